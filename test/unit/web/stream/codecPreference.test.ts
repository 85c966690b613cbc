import { expect } from "chai";
import { preferredCodecs } from "#web/stream/codecPreference.ts";

describe("preferredCodecs", () => {
  const vp8 = { mimeType: "video/VP8" };
  const vp9 = { mimeType: "video/VP9" };
  const rtx = { mimeType: "video/rtx" };
  const high = { mimeType: "video/H264", sdpFmtpLine: "packetization-mode=1;profile-level-id=64001f" };
  const baseline = { mimeType: "video/H264", sdpFmtpLine: "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f" };

  it("puts the H.264 that streamers send first, then other H.264 and VP8, and keeps the repair formats", () => {
    expect(preferredCodecs([vp8, rtx, vp9, high, baseline])).to.deep.equal([baseline, high, vp8, rtx]);
  });

  it("is empty when the browser has neither H.264 nor VP8", () => {
    expect(preferredCodecs([vp9, rtx])).to.deep.equal([]);
  });
});
