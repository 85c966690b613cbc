import { expect } from "chai";
import { rewritePacket, isFrameEnd } from "#streamer/rtp/rtpPacket.ts";

const packet = Buffer.from([0x80, 0xe0, 0x12, 0x34, 0, 0, 0, 9, 0xaa, 0xaa, 0xaa, 0xaa, 1, 2, 3]);
const header = { payloadType: 108, ssrc: 0x01020304, transportSequenceId: undefined, playoutDelayId: undefined };

describe("rewritePacket", () => {
  it("sets the browser's payload type and SSRC, and keeps marker, sequence number, timestamp and payload", () => {
    expect([...rewritePacket(packet, header, 0)]).to.deep.equal([0x80, 0x80 | 108, 0x12, 0x34, 0, 0, 0, 9, 1, 2, 3, 4, 1, 2, 3]);
  });

  it("adds the header extensions that were offered, padded to 32-bit words", () => {
    const rewritten = rewritePacket(packet, { ...header, transportSequenceId: 4, playoutDelayId: 5 }, 0xabcd);
    expect(rewritten[0]).to.equal(0x90);
    expect([...rewritten.subarray(12)]).to.deep.equal([0xbe, 0xde, 0, 2, 0x41, 0xab, 0xcd, 0x52, 0, 0, 0, 0, 1, 2, 3]);
  });

  it("says how long a frame may be held back at most, in units of 10 ms", () => {
    const delayOf = (playoutDelayMs: number) => [...rewritePacket(packet, { ...header, playoutDelayId: 5, playoutDelayMs }, 0).subarray(16, 20)];
    expect(delayOf(100)).to.deep.equal([0x52, 0, 0, 10]);
    expect(delayOf(5_120)).to.deep.equal([0x52, 0, 2, 0]);
  });

  it("does not change the encoder's packet", () => {
    const before = Buffer.from(packet);
    rewritePacket(packet, { ...header, playoutDelayId: 5 }, 0);
    expect(packet.equals(before)).to.equal(true);
  });

  it("recognizes the last packet of a frame by its marker", () => {
    expect(isFrameEnd(packet)).to.equal(true);
    expect(isFrameEnd(Buffer.from([0x80, 0x60]))).to.equal(false);
  });
});
