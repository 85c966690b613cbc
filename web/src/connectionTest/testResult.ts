import { z } from "zod";
import { VideoCodec } from "#contracts/videoCodec.ts";

/** What was measured on one way to a game server. */
export const PathFigures = z.object({
  /** Median round trip. */
  roundTripMs: z.number(),
  /** Share of packets from the server that did not arrive, from 0 to 1. */
  loss: z.number(),
  /** What arrived in the last seconds of the burst; absent on a way whose bandwidth was not measured. */
  bandwidthKbps: z.number().optional(),
  /** What the server sends at most in a test: the bandwidth may be higher than this. */
  limitKbps: z.number().optional(),
});
export type PathFigures = z.infer<typeof PathFigures>;

/**
 * One way to a game server: it works, packets do not get through, there is no such way here, or its test came
 * to no end.
 */
export const PathResult = z.discriminatedUnion("state", [
  z.object({ state: z.literal("works"), figures: PathFigures }),
  z.object({ state: z.literal("blocked") }),
  z.object({ state: z.literal("absent") }),
  z.object({ state: z.literal("untested") }),
]);
export type PathResult = z.infer<typeof PathResult>;

/** How this browser decodes a codec; hardware is null where the browser does not say. */
export const Decoder = z.object({ codec: VideoCodec, isHardware: z.boolean().nullable() });
export type Decoder = z.infer<typeof Decoder>;

/** A finished test, as it is kept in the browser. */
export const TestResult = z.object({
  /** When it ended, as a time stamp. */
  testedAt: z.string(),
  /** Kind of the network, as far as the browser tells. */
  network: z.string(),
  direct: PathResult,
  relay: PathResult,
  /** Best first. */
  decoders: z.array(Decoder),
});
export type TestResult = z.infer<typeof TestResult>;

/** The way that a game would take, and its figures; undefined when there is none. */
export function usedPath({
  direct,
  relay,
}: Pick<TestResult, "direct" | "relay">): { way: "direct" | "relay"; figures: PathFigures } | undefined {
  if (direct.state === "works") return { way: "direct", figures: direct.figures };
  if (relay.state === "works") return { way: "relay", figures: relay.figures };
  return undefined;
}
