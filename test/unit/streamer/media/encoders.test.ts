import { expect } from "chai";
import { buildProbePipeline, candidateEncoders, encoders } from "#streamer/media/encoders.ts";
import { buildVideoPipeline } from "#streamer/media/pipelines.ts";

describe("candidateEncoders and the encoder table", () => {
  const names = (profile: "gpu" | "software", ...codecs: ("h264" | "vp8")[]) => candidateEncoders(codecs, profile).map(({ name }) => name);

  it("lists encoders best first, and GPU encoders only for the gpu profile", () => {
    expect(names("gpu", "h264", "vp8")).to.deep.equal(["nvh264enc", "vah264enc", "x264enc", "openh264enc", "vp8enc"]);
    expect(names("software", "h264", "vp8")).to.deep.equal(["x264enc", "openh264enc", "vp8enc"]);
  });

  it("lists encoders in the configured order of codecs", () => {
    expect(names("software", "vp8", "h264")).to.deep.equal(["vp8enc", "x264enc", "openh264enc"]);
    expect(names("software", "vp8")).to.deep.equal(["vp8enc"]);
  });

  it("gives every encoder's pipeline a named element, whose bitrate can be set, and the payloader of its codec", () => {
    for (const encoder of encoders) {
      expect(encoder.chain).to.contain(`${encoder.name} name=encoder`);
      const payloader = encoder.codec === "h264" ? "rtph264pay" : "rtpvp8pay";
      expect(buildVideoPipeline(encoder, ":99", 60)).to.contain(` ! ${encoder.chain} ! ${payloader} `);
    }
  });

  it("probes an encoder with the size and frame rate of the stream", () => {
    const [encoder] = candidateEncoders(["vp8"], "software");
    expect(buildProbePipeline(encoder!, { width: 1920, height: 1080, fps: 30 })).to.match(/^videotestsrc .*width=1920,height=1080,framerate=30\/1 ! .* ! appsink name=probe /);
  });
});
