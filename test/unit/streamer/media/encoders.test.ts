import { expect } from "chai";
import { buildProbePipeline, candidateEncoders, encoders } from "#streamer/media/encoders.ts";
import { buildVideoPipeline } from "#streamer/media/pipelines.ts";

describe("encoders", () => {
  const names = (profile: "gpu" | "software", ...codecs: ("h264" | "vp8")[]) => candidateEncoders(codecs, profile).map(({ name }) => name);

  it("are tried best first, the GPU's only where there may be one", () => {
    expect(names("gpu", "h264", "vp8")).to.deep.equal(["nvh264enc", "vah264enc", "x264enc", "openh264enc", "vp8enc"]);
    expect(names("software", "h264", "vp8")).to.deep.equal(["x264enc", "openh264enc", "vp8enc"]);
  });

  it("follow the wanted order of codecs", () => {
    expect(names("software", "vp8", "h264")).to.deep.equal(["vp8enc", "x264enc", "openh264enc"]);
    expect(names("software", "vp8")).to.deep.equal(["vp8enc"]);
  });

  it("all name their element, so that its bitrate can be set, and end in the payloader of their codec", () => {
    for (const encoder of encoders) {
      expect(encoder.chain).to.contain(`${encoder.name} name=encoder`);
      const payloader = encoder.codec === "h264" ? "rtph264pay" : "rtpvp8pay";
      expect(buildVideoPipeline(encoder, ":99", 60)).to.contain(` ! ${encoder.chain} ! ${payloader} `);
    }
  });

  it("are probed with the picture they will get", () => {
    const [encoder] = candidateEncoders(["vp8"], "software");
    expect(buildProbePipeline(encoder!, { width: 1920, height: 1080, fps: 30 })).to.match(/^videotestsrc .*width=1920,height=1080,framerate=30\/1 ! .* ! appsink name=probe /);
  });
});
