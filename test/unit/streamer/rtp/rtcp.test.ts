import { expect } from "chai";
import { readRtcp } from "#streamer/rtp/rtcp.ts";

describe("readRtcp", () => {
  it("returns which packets a browser misses, those after the highest number included", () => {
    const nack = Buffer.from([
      0x81, 205, 0, 4, 0, 0, 0, 1, 0, 0, 0, 2, 0xff, 0xfe, 0x00, 0x05, 0x00, 0x10, 0x80, 0x00,
    ]);
    expect(readRtcp(nack)).to.deep.equal([{ type: "nack", lost: [0xfffe, 0xffff, 1, 16, 32] }]);
  });

  it("returns every request of a compound packet, and nothing of one that is cut off", () => {
    const loss = Buffer.from([0x81, 206, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2]);
    const nack = Buffer.from([0x81, 205, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 9, 0, 0]);
    expect(readRtcp(Buffer.concat([loss, nack]))).to.deep.equal([
      { type: "keyFrameRequest" },
      { type: "nack", lost: [9] },
    ]);
    expect(readRtcp(nack.subarray(0, 14))).to.deep.equal([]);
  });
});
