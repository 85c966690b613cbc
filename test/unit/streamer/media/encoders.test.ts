import { expect } from "chai";
import {
  buildProbePipeline,
  candidateEncoders,
  encoders,
  settingsFor,
  buildTunedChain,
} from "#streamer/media/encoders.ts";
import type { VideoCodec } from "#contracts/videoCodec.ts";
import { qualityPresets } from "#contracts/streamQuality.ts";
import { buildVideoPipeline } from "#streamer/media/pipelines.ts";

const display = ":99";
const whole = { preset: "auto", width: 1_280, height: 720, fps: 60 } as const;

describe("candidateEncoders and the encoder table", () => {
  const names = (profile: "gpu" | "software", ...codecs: VideoCodec[]) =>
    candidateEncoders(codecs, profile).map(({ name }) => name);

  it("lists encoders best first, and GPU encoders only for the gpu profile", () => {
    expect(names("gpu", "h264", "vp8")).to.deep.equal([
      "nvh264enc",
      "vah264enc",
      "vah264lpenc",
      "x264enc",
      "openh264enc",
      "vp8enc",
    ]);
    expect(names("software", "h264", "vp8")).to.deep.equal(["x264enc", "openh264enc", "vp8enc"]);
  });

  it("lists only GPU encoders for H.265 and AV1", () => {
    expect(names("gpu", "av1", "h265")).to.deep.equal([
      "nvav1enc",
      "vaav1enc",
      "vaav1lpenc",
      "nvh265enc",
      "vah265enc",
      "vah265lpenc",
    ]);
    expect(names("software", "av1", "h265", "h264")).to.deep.equal(["x264enc", "openh264enc"]);
  });

  it("lists encoders in the configured order of codecs", () => {
    expect(names("software", "vp8", "h264")).to.deep.equal(["vp8enc", "x264enc", "openh264enc"]);
    expect(names("software", "vp8")).to.deep.equal(["vp8enc"]);
  });

  it("gives every encoder's pipeline a named element, whose bitrate can be set, and the payloader of its codec", () => {
    const payloaders = { h264: "rtph264pay", h265: "rtph265pay", av1: "joypodav1pay", vp8: "rtpvp8pay" };
    for (const encoder of encoders) {
      expect(encoder.chain).to.contain(`${encoder.name} name=encoder`);
      expect(buildVideoPipeline(encoder, display, whole)).to.contain(
        ` ! ${encoder.chain} ! ${payloaders[encoder.codec]} `,
      );
    }
  });

  it("sets the bitrate in the encoder's unit, then VA-API's rate-control buffer to half a second", () => {
    const settings = (kbps: number) =>
      Object.fromEntries(encoders.map((encoder) => [encoder.name, settingsFor(encoder, kbps)]));
    expect(settings(4_000)).to.deep.include({
      nvh264enc: [["bitrate", 4_000]],
      vp8enc: [["target-bitrate", 4_000_000]],
      ...Object.fromEntries(
        ["h264", "h265", "av1"]
          .flatMap((codec) => [`va${codec}enc`, `va${codec}lpenc`])
          .map((name) => [
            name,
            [
              ["bitrate", 4_000],
              ["cpb-size", 2_000],
            ],
          ]),
      ),
    });
    expect(settings(1_001)["vah264enc"]).to.deep.equal([
      ["bitrate", 1_001],
      ["cpb-size", 501],
    ]);
  });

  it("scales every picture between capture and encoder without distortion", () => {
    const [encoder] = encoders;
    for (const [width, height] of [
      [854, 480],
      [1_280, 720],
    ] as const) {
      const pipeline = buildVideoPipeline(encoder!, display, { ...whole, width, height, fps: 30 }).split(
        " ! ",
      );
      expect(pipeline[1]).to.equal("video/x-raw,format=BGRx,framerate=30/1,pixel-aspect-ratio=1/1");
      expect(pipeline[2]).to.match(/^videoscale .*\badd-borders=true$/);
      expect(pipeline[3]).to.equal(`video/x-raw,width=${width},height=${height},pixel-aspect-ratio=1/1`);
    }
  });

  it("captures pictures in the format of software encoders", () => {
    for (const encoder of encoders) {
      const pipeline = buildVideoPipeline(encoder, display, whole);
      expect(pipeline).to.match(
        new RegExp(`^joypoddisplaysrc [^!]* ! video/x-raw,format=${encoder.driver ? "BGRx" : "I420"},`),
      );
      expect(pipeline.includes(" ! videoconvert ")).to.equal(encoder.driver !== null);
    }
  });

  it("converts pictures for GPUs with the BT.601 matrix, as for software encoders", () => {
    const ofGpus = encoders.filter(({ driver }) => driver !== null);
    expect(ofGpus.map(({ chain }) => chain.split(" ! ")[1])).to.deep.equal(
      ofGpus.map(() => "video/x-raw,format=NV12,colorimetry=bt601"),
    );
  });

  it("appends the preset's properties to the encoder's, which they override", () => {
    for (const encoder of encoders) {
      expect(buildTunedChain(encoder, "auto")).to.equal(encoder.chain);
      for (const preset of qualityPresets) {
        const tuned = buildTunedChain(encoder, preset).split(" ! ");
        encoder.chain.split(" ! ").forEach((part, index) => {
          const isEncoder = part.includes("name=encoder");
          expect(
            isEncoder ? tuned[index]?.slice(0, part.length) : tuned[index],
            `${encoder.name} ${preset}`,
          ).to.equal(part);
        });
      }
    }
    expect(
      buildTunedChain(
        encoders.find(({ name }) => name === "x264enc")!,
        "sharp",
      ),
    ).to.match(/speed-preset=ultrafast .* speed-preset=superfast vbv-buf-capacity=300 ! /);
    expect(
      buildTunedChain(
        encoders.find(({ name }) => name === "vp8enc")!,
        "lowLatency",
      ),
    ).to.match(/buffer-size=500 .* buffer-size=200 /);
  });

  it("probes an encoder with the size and frame rate of the stream", () => {
    const [encoder] = candidateEncoders(["vp8"], "software");
    expect(buildProbePipeline(encoder!, { width: 1920, height: 1080, fps: 30 })).to.match(
      /^videotestsrc .*width=1920,height=1080,framerate=30\/1 ! .* ! appsink name=probe /,
    );
  });
});
