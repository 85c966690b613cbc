import { expect } from "chai";
import { splitPackets, rewritePacket } from "#streamer/rtp/rtpPacket.ts";

const packet = Buffer.from([0x80, 0xe0, 0x12, 0x34, 0, 0, 0, 9, 0xaa, 0xaa, 0xaa, 0xaa, 1, 2, 3]);
const header = {
  payloadType: 108,
  ssrc: 0x01020304,
  transportSequenceId: undefined,
  playoutDelayId: undefined,
};

describe("rewritePacket", () => {
  it("sets the browser's payload type and SSRC, and keeps marker, sequence number, timestamp and payload", () => {
    expect([...rewritePacket(packet, header, 0)]).to.deep.equal([
      0x80,
      0x80 | 108,
      0x12,
      0x34,
      0,
      0,
      0,
      9,
      1,
      2,
      3,
      4,
      1,
      2,
      3,
    ]);
  });

  it("adds the header extensions that were offered, padded to 32-bit words", () => {
    const rewritten = rewritePacket(packet, { ...header, transportSequenceId: 4, playoutDelayId: 5 }, 0xabcd);
    expect(rewritten[0]).to.equal(0x90);
    expect([...rewritten.subarray(12)]).to.deep.equal([
      0xbe, 0xde, 0, 2, 0x41, 0xab, 0xcd, 0x52, 0, 0, 0, 0, 1, 2, 3,
    ]);
  });

  it("encodes the maximum playout delay in units of 10 ms", () => {
    const delayOf = (playoutDelayMs: number) => [
      ...rewritePacket(packet, { ...header, playoutDelayId: 5, playoutDelayMs }, 0).subarray(16, 20),
    ];
    expect(delayOf(100)).to.deep.equal([0x52, 0, 0, 10]);
    expect(delayOf(5_120)).to.deep.equal([0x52, 0, 2, 0]);
  });

  it("does not change the encoder's packet", () => {
    const before = Buffer.from(packet);
    rewritePacket(packet, { ...header, playoutDelayId: 5 }, 0);
    expect(packet.equals(before)).to.equal(true);
  });
});

describe("splitPackets", () => {
  it("returns the packets of a picture in order, whatever surrounds it in memory", () => {
    const memory = Buffer.from([9, 9, 0, 3, 1, 2, 3, 0, 0, 0, 1, 4, 9]);
    expect(splitPackets(memory.subarray(2, 12)).map((part) => [...part])).to.deep.equal([[1, 2, 3], [], [4]]);
    expect(splitPackets(new Uint8Array())).to.deep.equal([]);
    const long = Buffer.concat([Buffer.from([0x04, 0xb0]), Buffer.alloc(1200, 7)]);
    expect(splitPackets(long).map(({ length }) => length)).to.deep.equal([1200]);
  });

  it("rejects a picture that ends within a packet", () => {
    for (const bytes of [[0], [0, 2, 1], [0, 1, 1, 0]])
      expect(() => splitPackets(Uint8Array.from(bytes)), JSON.stringify(bytes)).to.throw(RangeError);
  });
});
