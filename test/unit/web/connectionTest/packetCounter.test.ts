import { expect } from "chai";
import { PacketCounter } from "#web/connectionTest/packetCounter.ts";

const bytes = 1_000;

function aPacket(number: number): ArrayBuffer {
  const packet = new ArrayBuffer(bytes);
  new DataView(packet).setUint32(0, number);
  return packet;
}

/** Adds packets of 1000 bytes at this interval between two times in milliseconds. */
function arrive(
  counter: PacketCounter,
  { from, to, everyMs }: { from: number; to: number; everyMs: number },
): void {
  for (let at = from; at < to; at += everyMs) counter.add(aPacket(at), at);
}

describe("PacketCounter", () => {
  it("counts lost packets, and duplicates only once", () => {
    const counter = new PacketCounter();
    for (const number of [0, 1, 3, 3, 9]) counter.add(aPacket(number), number);
    counter.add(new ArrayBuffer(2), 10);
    expect(counter.loss(8)).to.equal(0.5);
    expect(counter.loss(4)).to.equal(0);
    expect(counter.loss(0), "nothing was sent").to.equal(1);
    expect(new PacketCounter().loss(10)).to.equal(1);
  });

  it("measures the bandwidth in the busiest second", () => {
    const counter = new PacketCounter();
    arrive(counter, { from: 0, to: 1_000, everyMs: 50 });
    arrive(counter, { from: 1_000, to: 2_000, everyMs: 4 });
    arrive(counter, { from: 2_000, to: 3_000, everyMs: 20 });
    expect(counter.kbps()).to.be.closeTo(2_000, 20);
  });

  it("measures the bandwidth of less than a second", () => {
    const counter = new PacketCounter();
    arrive(counter, { from: 0, to: 501, everyMs: 10 });
    expect(counter.kbps()).to.be.closeTo(816, 1);
    expect(new PacketCounter().kbps()).to.equal(0);
  });
});
