import type { QualityPreset } from "#contracts/streamQuality.ts";
import { encoderName, encoders, type Encoder } from "./encoders.ts";

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
