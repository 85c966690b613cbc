import { expect } from "chai";
import type { Arrival } from "#streamer/transport/arrivals.ts";
import { createPacketTrain } from "#streamer/transport/packetTrain.ts";

const bytes = 1_250; // 10 kbit
const pictureMs = 1_000 / 60;

/** So many packets that were sent at once, and arrive `everyMs` after each other. */
const aPicture = (count: number, everyMs: number, sentAtMs = 0): Arrival[] =>
  Array.from({ length: count }, (_, index) => ({ sentAtMs, arrivedAtMs: sentAtMs + 20 + index * everyMs, bytes }));

const rateOf = (arrivals: readonly Arrival[]): number | undefined => {
  const train = createPacketTrain();
  for (const arrival of arrivals) train.add(arrival);
  return train.arrivedKbps();
};

describe("createPacketTrain", () => {
  it("tells what a narrow path carries by the first packets of a picture", () => {
    expect(rateOf(aPicture(6, 6))).to.be.closeTo(1_667, 1);
    expect(rateOf(aPicture(20, 6))).to.be.closeTo(1_667, 1);
  });

  it("tells nothing by few packets, or by such as arrive nearly as quickly as they were sent", () => {
    expect(rateOf(aPicture(5, 6))).to.equal(undefined);
    expect(rateOf(aPicture(10, 1))).to.equal(undefined);
    const spread = aPicture(20, 4).map((arrival, index) => ({ ...arrival, sentAtMs: index * 3.5 }));
    expect(rateOf(spread)).to.equal(undefined);
  });

  it("begins anew with each picture, of which a few packets say nothing, and goes on with one that is spread over time", () => {
    expect(rateOf([...aPicture(20, 6), ...aPicture(5, 1, pictureMs)])).to.be.closeTo(1_667, 1);
    expect(rateOf([...aPicture(20, 6), ...aPicture(6, 1, pictureMs)])).to.equal(undefined);
    expect(rateOf([...aPicture(20, 6), ...aPicture(2, 6, pictureMs), ...aPicture(2, 6, 2 * pictureMs)])).to.equal(undefined);
    const spread = aPicture(20, 6).map((arrival, index) => ({ ...arrival, sentAtMs: index * 2 }));
    expect(rateOf(spread)).to.be.closeTo(1_667, 1);
  });

  it("does not take a path or a browser that stands still for a moment for a narrow one", () => {
    const stalled = aPicture(20, 0.2).map((arrival, index) => ({ ...arrival, arrivedAtMs: arrival.arrivedAtMs + (index < 8 ? 0 : 100) }));
    expect(rateOf(stalled)).to.equal(undefined);
  });

  it("forgets the begin of a train that does not end, so that it tells of a path that has become narrow in its middle", () => {
    const wide = Array.from({ length: 2_000 }, (_, index) => ({ sentAtMs: index * 2, arrivedAtMs: index * 2 + 20, bytes }));
    const narrow = Array.from({ length: 40 }, (_, index) => ({ sentAtMs: 4_000 + index * 2, arrivedAtMs: 4_020 + index * 8, bytes }));
    expect(rateOf(wide)).to.equal(undefined);
    expect(rateOf([...wide, ...narrow])).to.be.closeTo(1_250, 1);
  });
});
