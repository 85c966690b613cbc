import { expect } from "chai";
import { preferredCodecs } from "#web/stream/codecPreference.ts";

describe("preferredCodecs", () => {
  const vp8 = { mimeType: "video/VP8" };
  const vp9 = { mimeType: "video/VP9" };
  const rtx = { mimeType: "video/rtx" };
  const high = { mimeType: "video/H264", sdpFmtpLine: "packetization-mode=1;profile-level-id=64001f" };
  const baseline = {
    mimeType: "video/H264",
    sdpFmtpLine: "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f",
  };

  it("puts the streamers' H.264 first, then other H.264 and VP8, and keeps repair formats", () => {
    expect(preferredCodecs([vp8, rtx, vp9, high, baseline])).to.deep.equal([baseline, high, vp8, rtx]);
  });

  it("offers H.265 and AV1 after H.264, in the main profile first", () => {
    const h265 = {
      mimeType: "video/H265",
      sdpFmtpLine: "level-id=180;profile-id=1;tier-flag=0;tx-mode=SRST",
    };
    const main10 = {
      mimeType: "video/H265",
      sdpFmtpLine: "level-id=180;profile-id=2;tier-flag=0;tx-mode=SRST",
    };
    const av1 = { mimeType: "video/AV1", sdpFmtpLine: "level-idx=5;profile=0;tier=0" };
    const highAv1 = { mimeType: "video/AV1", sdpFmtpLine: "level-idx=5;profile=1;tier=0" };
    expect(preferredCodecs([vp8, highAv1, av1, main10, h265, baseline])).to.deep.equal([
      baseline,
      h265,
      main10,
      av1,
      highAv1,
      vp8,
    ]);
  });

  it("returns an empty list if the browser supports none of the streamers' codecs", () => {
    expect(preferredCodecs([vp9, rtx])).to.deep.equal([]);
  });
});
