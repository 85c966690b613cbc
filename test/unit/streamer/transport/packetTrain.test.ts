import { expect } from "chai";
import type { Arrival } from "#streamer/transport/arrivals.ts";
import { createPacketTrain } from "#streamer/transport/packetTrain.ts";

const bytes = 1_250; // 10 kbit
const pictureMs = 1_000 / 60;
/** What the pictures of these tests would be sent at. */
const sentKbps = 6_000;

/** So many packets that were sent at once, and arrive `everyMs` after each other. */
const aPicture = (count: number, everyMs: number, sentAtMs = 0): Arrival[] =>
  Array.from({ length: count }, (_, index) => ({ sentAtMs, arrivedAtMs: sentAtMs + 20 + index * everyMs, bytes }));

function aTrain(...pictures: Arrival[][]) {
  let now = 0;
  const train = createPacketTrain(() => now);
  for (const arrival of pictures.flat()) train.add(arrival);
  return { train, wait: (ms: number) => { now += ms; } };
}

const overruns = (...pictures: Arrival[][]): boolean => aTrain(...pictures).train.overruns(sentKbps);

describe("createPacketTrain", () => {
  it("tells by the first packets of a picture that a path carries less than six tenths of what is sent", () => {
    expect(overruns(aPicture(6, 6))).to.equal(true);
    expect(overruns(aPicture(20, 3))).to.equal(true);
    expect(overruns(aPicture(20, 2.5))).to.equal(false);
  });

  it("tells nothing by few packets, or by such as arrive nearly as quickly as they were sent", () => {
    expect(overruns(aPicture(5, 6))).to.equal(false);
    expect(overruns(aPicture(6, 3.5))).to.equal(false);
    const spread = aPicture(20, 4).map((arrival, index) => ({ ...arrival, sentAtMs: index * 3.5 }));
    expect(overruns(spread)).to.equal(false);
  });

  it("goes by the picture before while few packets of one have arrived", () => {
    expect(overruns(aPicture(20, 6), aPicture(5, 1, pictureMs))).to.equal(true);
    expect(overruns(aPicture(20, 6), aPicture(6, 1, pictureMs))).to.equal(false);
    expect(overruns(aPicture(20, 6), aPicture(2, 6, pictureMs), aPicture(2, 6, 2 * pictureMs))).to.equal(false);
  });

  it("takes a picture that is spread over time for one train", () => {
    expect(overruns(aPicture(20, 6).map((arrival, index) => ({ ...arrival, sentAtMs: index * 2 })))).to.equal(true);
  });

  it("does not take a path or a browser that stands still for a moment for a narrow one", () => {
    expect(overruns(aPicture(20, 0.2).map((arrival, index) => ({ ...arrival, arrivedAtMs: arrival.arrivedAtMs + (index < 8 ? 0 : 100) })))).to.equal(false);
  });

  it("tells of a path that has become narrow in the middle of a train that does not end", () => {
    const wide = Array.from({ length: 2_000 }, (_, index) => ({ sentAtMs: index * 2, arrivedAtMs: index * 2 + 20, bytes }));
    const narrow = Array.from({ length: 40 }, (_, index) => ({ sentAtMs: 4_000 + index * 2, arrivedAtMs: 4_020 + index * 8, bytes }));
    expect(overruns(wide)).to.equal(false);
    expect(overruns(wide, narrow)).to.equal(true);
  });

  it("tells nothing for ten seconds once it was wrong", () => {
    const { train, wait } = aTrain(aPicture(20, 6));
    train.distrust();
    wait(9_999);
    expect(train.overruns(sentKbps)).to.equal(false);
    wait(1);
    expect(train.overruns(sentKbps)).to.equal(true);
  });
});
