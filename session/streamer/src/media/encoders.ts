import type { VideoCodec } from "#contracts/videoCodec.ts";
import type { QualityPreset } from "#contracts/streamQuality.ts";

/** Key frames come on request; without one, at 60 frames a second, this is a key frame a minute. */
const keyFrameDistance = 3_600;

/** Name of the encoder's element in its chain. */
export const encoderName = "encoder";

export interface Picture {
  width: number;
  height: number;
  fps: number;
}

/** One way to encode video: a GStreamer chain and how its bitrate is set while it runs. */
export interface Encoder {
  name: string;
  codec: VideoCodec;
  /** Of the GPU; null in software. One driver that hangs does so in all of its encoders. */
  driver: "nvenc" | "vaapi" | null;
  /**
   * The pictures that its chain begins with: the capture makes those of the software encoders itself, in less
   * time than a conversion in the pipeline.
   */
  captured: "I420" | "BGRx";
  /** From raw pictures to an encoded stream; the element is named `encoderName`. */
  chain: string;
  bitrateProperty: string;
  /** Value of the property for one kbit/s. */
  bitrateUnit: 1 | 1000;
  /** The size of its rate-control buffer, in kbit, where that does not follow the bitrate by itself. */
  bufferProperty?: string;
  /** Whether it begins again when its bitrate is set, with a key frame. */
  restartsForBitrate?: true;
}

/**
 * The environments of processes that encode: with the first, GStreamer has the GPU's encoders, and
 * initialises its drivers.
 */
export type EncoderEnvironments = Record<"gpu" | "software", Record<string, string>>;

/** Returns what makes the encoder's pictures. */
export function kindOf({ driver }: Encoder): keyof EncoderEnvironments {
  return driver === null ? "software" : "gpu";
}

/** A property of an encoder's element, and what it is set to. */
export type Setting = readonly [property: string, value: number];

/**
 * Returns what is set of an encoder for this bitrate, in this order. VA-API's keep the buffer of their first
 * bitrate, which is GStreamer's own and several times as high as any that is sent: pictures could take
 * seconds of the path. A buffer of less than half a second of the bitrate they make one of two seconds, so
 * that the bitrate is set first.
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
 * What GPUs take: the capture's pictures, converted by the matrix of those that software encodes. By itself
 * GStreamer converts a picture of more than 576 lines by BT.709's, and VA-API's encoders do not say in the
 * stream which one it was: Chromium then assumes BT.601.
 */
const toNv12 = "videoconvert n-threads=2 ! video/x-raw,format=NV12,colorimetry=bt601";

/**
 * VA-API's encoders of a codec, with these settings. Intel's free driver has the one of low power alone for
 * H.264, which needs no program on the GPU's own cores, and GStreamer knows it by another name; a GPU that
 * has both is as quick by the first.
 */
function byVaapi(codec: VideoCodec, element: string, settings: string, format: string): Encoder[] {
  return [`va${element}enc`, `va${element}lpenc`].map((name) => ({
    name,
    codec,
    driver: "vaapi",
    captured: "BGRx",
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
    captured: "BGRx",
    bitrateProperty: "bitrate",
    bitrateUnit: 1,
    chain: `${toNv12} ! nvh264enc name=${encoderName} rc-mode=cbr zerolatency=true bframes=0 gop-size=-1 preset=low-latency-hq ! ${h264}`,
  },
  ...byVaapi("h264", "h264", "b-frames=0", h264),
  {
    name: "x264enc",
    codec: "h264",
    driver: null,
    captured: "I420",
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
    captured: "I420",
    bitrateProperty: "bitrate",
    bitrateUnit: 1000,
    chain: `openh264enc name=${encoderName} usage-type=screen complexity=low rate-control=bitrate gop-size=${keyFrameDistance} multi-thread=2 ! ${h264}`,
  },
  {
    name: "nvh265enc",
    codec: "h265",
    driver: "nvenc",
    captured: "BGRx",
    bitrateProperty: "bitrate",
    bitrateUnit: 1,
    chain: `${toNv12} ! nvh265enc name=${encoderName} rc-mode=cbr zerolatency=true gop-size=-1 preset=low-latency-hq ! ${h265}`,
  },
  ...byVaapi("h265", "h265", "b-frames=0", h265),
  {
    name: "nvav1enc",
    codec: "av1",
    driver: "nvenc",
    captured: "BGRx",
    bitrateProperty: "bitrate",
    bitrateUnit: 1,
    chain: `${toNv12} ! nvav1enc name=${encoderName} rc-mode=cbr zerolatency=true gop-size=-1 preset=p3 tune=ultra-low-latency ! ${av1}`,
  },
  // A hierarchy of one level refers to no later picture, which would have to be waited for.
  ...byVaapi("av1", "av1", "hierarchical-level=1", av1),
  {
    name: "vp8enc",
    codec: "vp8",
    driver: null,
    captured: "I420",
    bitrateProperty: "target-bitrate",
    bitrateUnit: 1000,
    chain:
      `vp8enc name=${encoderName} deadline=1 cpu-used=-12 end-usage=cbr lag-in-frames=0 threads=2 buffer-size=500 buffer-initial-size=300` +
      ` buffer-optimal-size=400 static-threshold=1 min-quantizer=4 max-quantizer=56 undershoot=95 keyframe-max-dist=${keyFrameDistance}`,
  },
];

/** Returns the encoders to probe on a pod of this profile, in order of preference. */
export function candidateEncoders(codecs: readonly VideoCodec[], profile: "gpu" | "software"): Encoder[] {
  return codecs.flatMap((codec) =>
    encoders.filter((encoder) => encoder.codec === codec && (profile === "gpu" || encoder.driver === null)),
  );
}

/** Enough frames to see an encoder work, few enough not to delay the start. */
const probeFrames = 3;

/** The sink in which a working encoder's frames arrive. */
export const probeSink = "probe";

/** A pipeline of no encoder, for which a process starts and GStreamer finds out what plugins there are. */
export const emptyProbePipeline = `videotestsrc num-buffers=1 ! appsink name=${probeSink} sync=false`;

/** Returns a pipeline that sends a few test pictures through the encoder. */
export function buildProbePipeline(encoder: Encoder, { width, height, fps }: Picture): string {
  return `videotestsrc num-buffers=${probeFrames} ! video/x-raw,format=${encoder.captured},width=${width},height=${height},framerate=${fps}/1 ! ${encoder.chain} ! appsink name=${probeSink} sync=false`;
}

/** VA-API's encoders take more time for a picture, and fewer bits. */
const thoroughOnGpu = Object.fromEntries(
  encoders.filter(({ name }) => name.startsWith("va")).map(({ name }) => [name, "target-usage=4"]),
);

/**
 * What a preset changes of an encoder, as properties in place of those in its chain. A short rate-control
 * buffer holds every picture to its share of the bitrate, so that none waits behind a large one; a long one
 * lets pictures have the bits they need. Encoders that are not listed stay as they are: hardware spends the
 * same time either way.
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

/** Returns the encoder's chain as this preset has it. */
export function tunedChain({ name, chain }: Encoder, preset: QualityPreset): string {
  const properties = tunings[preset][name];
  if (properties === undefined) return chain;
  // These properties go to the end of the element, because of a property that is given twice the last one
  // counts.
  return chain.replace(new RegExp(`(\\bname=${encoderName}\\b[^!]*?)(?=\\s*(?:!|$))`), `$1 ${properties}`);
}

/**
 * Returns up to how many milliseconds a browser may hold pictures back to show them evenly. At 0 it shows
 * each one as it comes, which saves some 30 ms.
 */
export function playoutDelayMs(preset: QualityPreset): number {
  return preset === "sharp" || preset === "dataSaver" ? 100 : 0;
}
