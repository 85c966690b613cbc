import type { VideoCodec } from "#contracts/videoCodec.ts";
import type { QualityPreset } from "#contracts/streamQuality.ts";

/** Key frames are sent on request. This is the fallback interval: one a minute at 60 frames per second. */
const keyFrameDistance = 3_600;

/** Name of the encoder's element in its chain. */
export const encoderName = "encoder";

export interface Picture {
  width: number;
  height: number;
  fps: number;
}

/** A way to encode video: a GStreamer chain and how to set its bitrate while it runs. */
export interface Encoder {
  name: string;
  codec: VideoCodec;
  /** GPU driver; null in software. A driver that hangs does so for all of its encoders. */
  driver: "nvenc" | "vaapi" | null;
  /**
   * Pixel format at the start of the chain. The capture produces the software encoders' format directly,
   * which is faster than a conversion in the pipeline.
   */
  inputFormat: "I420" | "BGRx";
  /** From raw pictures to an encoded stream. The encoder's element is named `encoderName`. */
  chain: string;
  bitrateProperty: string;
  /** Property value for one kbit/s. */
  bitrateUnit: 1 | 1000;
  /**
   * Property for the rate-control buffer in kbit, if the buffer does not follow the bitrate automatically.
   */
  bufferProperty?: string;
  /** Whether setting the bitrate restarts the encoder with a key frame. */
  restartsForBitrate?: true;
}

/**
 * Environments of processes that encode. With `gpu`, GStreamer offers GPU encoders and initialises their
 * drivers.
 */
export type EncoderEnvironments = Record<"gpu" | "software", Record<string, string>>;

/** Returns where the encoder runs. */
export function encoderKind({ driver }: Encoder): keyof EncoderEnvironments {
  return driver === null ? "software" : "gpu";
}

/** A property of an encoder's element and its value. */
export type Setting = readonly [property: string, value: number];

/**
 * Returns the encoder's settings for a bitrate, in the order in which to apply them. VA-API encoders keep the
 * buffer of their initial bitrate, GStreamer's default, which is several times higher than any rate sent:
 * pictures could occupy seconds of the path. The bitrate is set first, because a buffer of less than half a
 * second of the current bitrate is expanded to two seconds.
 */
export function settingsFor(
  { bitrateProperty, bitrateUnit, bufferProperty }: Encoder,
  kbps: number,
): Setting[] {
  const bitrate: Setting = [bitrateProperty, kbps * bitrateUnit];
  return bufferProperty === undefined ? [bitrate] : [bitrate, [bufferProperty, Math.ceil(kbps / 2)]];
}

const h264 = "video/x-h264,profile=constrained-baseline,stream-format=byte-stream";
const h265 = "video/x-h265,profile=main,stream-format=byte-stream,alignment=au";
const av1 = "video/x-av1,stream-format=obu-stream,alignment=tu";
/**
 * Input of GPU encoders: captured pictures, converted with the same matrix as software encoders use. By
 * default GStreamer converts pictures of more than 576 lines with BT.709. VA-API encoders do not signal the
 * matrix in the stream, and Chromium then assumes BT.601.
 */
const toNv12 = "videoconvert n-threads=2 ! video/x-raw,format=NV12,colorimetry=bt601";

/**
 * Returns the VA-API encoders of a codec. For H.264, Intel's free driver has only the low-power one, which
 * needs no program on the GPU's cores and has another name in GStreamer. A GPU that has both is equally fast
 * with the first.
 */
function vaapiEncoders(codec: VideoCodec, element: string, settings: string, format: string): Encoder[] {
  return [`va${element}enc`, `va${element}lpenc`].map((name) => ({
    name,
    codec,
    driver: "vaapi",
    inputFormat: "BGRx",
    bitrateProperty: "bitrate",
    bitrateUnit: 1,
    bufferProperty: "cpb-size",
    restartsForBitrate: true,
    chain: `${toNv12} ! ${name} name=${encoderName} rate-control=cbr key-int-max=1024 ${settings} ref-frames=1 target-usage=7 ! ${format}`,
  }));
}

/** All encoders, best first within a codec. */
export const encoders: readonly Encoder[] = [
  {
    name: "nvh264enc",
    codec: "h264",
    driver: "nvenc",
    inputFormat: "BGRx",
    bitrateProperty: "bitrate",
    bitrateUnit: 1,
    chain: `${toNv12} ! nvh264enc name=${encoderName} rc-mode=cbr zerolatency=true bframes=0 gop-size=-1 preset=low-latency-hq ! ${h264}`,
  },
  ...vaapiEncoders("h264", "h264", "b-frames=0", h264),
  {
    name: "x264enc",
    codec: "h264",
    driver: null,
    inputFormat: "I420",
    bitrateProperty: "bitrate",
    bitrateUnit: 1,
    chain:
      `x264enc name=${encoderName} tune=zerolatency speed-preset=ultrafast vbv-buf-capacity=120 bframes=0 threads=2 sliced-threads=true` +
      ` aud=false key-int-max=${keyFrameDistance} ! ${h264}`,
  },
  {
    name: "openh264enc",
    codec: "h264",
    driver: null,
    inputFormat: "I420",
    bitrateProperty: "bitrate",
    bitrateUnit: 1000,
    chain: `openh264enc name=${encoderName} usage-type=screen complexity=low rate-control=bitrate gop-size=${keyFrameDistance} multi-thread=2 ! ${h264}`,
  },
  {
    name: "nvh265enc",
    codec: "h265",
    driver: "nvenc",
    inputFormat: "BGRx",
    bitrateProperty: "bitrate",
    bitrateUnit: 1,
    chain: `${toNv12} ! nvh265enc name=${encoderName} rc-mode=cbr zerolatency=true gop-size=-1 preset=low-latency-hq ! ${h265}`,
  },
  ...vaapiEncoders("h265", "h265", "b-frames=0", h265),
  {
    name: "nvav1enc",
    codec: "av1",
    driver: "nvenc",
    inputFormat: "BGRx",
    bitrateProperty: "bitrate",
    bitrateUnit: 1,
    chain: `${toNv12} ! nvav1enc name=${encoderName} rc-mode=cbr zerolatency=true gop-size=-1 preset=p3 tune=ultra-low-latency ! ${av1}`,
  },
  // With one hierarchy level no picture refers to a later one, which would add delay.
  ...vaapiEncoders("av1", "av1", "hierarchical-level=1", av1),
  {
    name: "vp8enc",
    codec: "vp8",
    driver: null,
    inputFormat: "I420",
    bitrateProperty: "target-bitrate",
    bitrateUnit: 1000,
    chain:
      `vp8enc name=${encoderName} deadline=1 cpu-used=-12 end-usage=cbr lag-in-frames=0 threads=2 buffer-size=500 buffer-initial-size=300` +
      ` buffer-optimal-size=400 static-threshold=1 min-quantizer=4 max-quantizer=56 undershoot=95 keyframe-max-dist=${keyFrameDistance}`,
  },
];

/** Returns the encoders to probe for a profile, in order of preference. */
export function candidateEncoders(codecs: readonly VideoCodec[], profile: "gpu" | "software"): Encoder[] {
  return codecs.flatMap((codec) =>
    encoders.filter((encoder) => encoder.codec === codec && (profile === "gpu" || encoder.driver === null)),
  );
}

/** Enough frames to see that an encoder works, few enough not to delay the start. */
const probeFrames = 3;

/** Name of the sink that receives a working encoder's frames. */
export const probeSink = "probe";

/** A pipeline without an encoder, used to start the process and have GStreamer discover its plugins. */
export const emptyProbePipeline = `videotestsrc num-buffers=1 ! appsink name=${probeSink} sync=false`;

/** Returns a pipeline that sends a few test pictures through the encoder. */
export function buildProbePipeline(encoder: Encoder, { width, height, fps }: Picture): string {
  return `videotestsrc num-buffers=${probeFrames} ! video/x-raw,format=${encoder.inputFormat},width=${width},height=${height},framerate=${fps}/1 ! ${encoder.chain} ! appsink name=${probeSink} sync=false`;
}

/** Makes VA-API encoders spend more time and fewer bits on each picture. */
const thoroughOnGpu = Object.fromEntries(
  encoders.filter(({ name }) => name.startsWith("va")).map(({ name }) => [name, "target-usage=4"]),
);

/**
 * Encoder properties that a preset overrides. A short rate-control buffer holds each picture to its share of
 * the bitrate, so that none waits behind a large one. A long buffer lets pictures use the bits they need.
 * Encoders not listed are unchanged: hardware takes the same time either way.
 */
const tunings: Record<QualityPreset, Readonly<Record<string, string>>> = {
  auto: {},
  lowLatency: {
    x264enc: "vbv-buf-capacity=40",
    vp8enc: "buffer-size=200 buffer-initial-size=100 buffer-optimal-size=150",
  },
  sharp: {
    x264enc: "speed-preset=superfast vbv-buf-capacity=300",
    openh264enc: "complexity=medium",
    vp8enc: "cpu-used=-8",
    ...thoroughOnGpu,
  },
  dataSaver: {
    x264enc: "speed-preset=superfast",
    openh264enc: "complexity=medium",
    vp8enc: "cpu-used=-8",
    ...thoroughOnGpu,
  },
};

/** Returns the encoder's chain with the preset's properties. */
export function buildTunedChain({ name, chain }: Encoder, preset: QualityPreset): string {
  const properties = tunings[preset][name];
  if (properties === undefined) return chain;
  // Appended to the element, because the last value of a repeated property wins.
  return chain.replace(new RegExp(`(\\bname=${encoderName}\\b[^!]*?)(?=\\s*(?:!|$))`), `$1 ${properties}`);
}

/**
 * Returns the maximum time in milliseconds that a browser may delay pictures to smooth playback. With 0 it
 * shows each one immediately, which saves about 30 ms.
 */
export function playoutDelayMs(preset: QualityPreset): number {
  return preset === "sharp" || preset === "dataSaver" ? 100 : 0;
}
