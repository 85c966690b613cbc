import { z } from "zod";
import { VideoCodec } from "#contracts/videoCodec.ts";
import { accessStorage } from "../client/browser.ts";

/** The part of a launch request that the connection test decides; the player's quality is added to it. */
interface LaunchStart {
  startKbps?: number;
}

/** Share of the bandwidth that a stream starts with. Sound, repairs and other users need the rest. */
const startShare = 0.6;

const startBounds = { min: 300, max: 8_000 };

/** Above this loss the path may be congested already. */
const highLoss = 0.02;

const storageKey = "joypod.connectionTest";

const freshMs = 24 * 3_600_000;

/** The measurements of one path to a game server. */
export const PathFigures = z.object({
  /** Median round trip. */
  roundTripMs: z.number(),
  /** Share of packets from the server that did not arrive, from 0 to 1. */
  loss: z.number(),
  /** Bandwidth from the server; absent if it was not measured on this path. */
  bandwidthKbps: z.number().optional(),
  /** The most that the server sends in a test; the bandwidth may be higher. */
  limitKbps: z.number().optional(),
});
export type PathFigures = z.infer<typeof PathFigures>;

/**
 * One path to a game server: it works, packets do not get through, the installation does not have it, or its
 * test was interrupted.
 */
export const PathResult = z.discriminatedUnion("state", [
  z.object({ state: z.literal("works"), figures: PathFigures }),
  z.object({ state: z.literal("blocked") }),
  z.object({ state: z.literal("absent") }),
  z.object({ state: z.literal("untested") }),
]);
export type PathResult = z.infer<typeof PathResult>;

/** How this browser decodes a codec; `isHardware` is null if the browser does not report it. */
export const Decoder = z.object({ codec: VideoCodec, isHardware: z.boolean().nullable() });
export type Decoder = z.infer<typeof Decoder>;

/** A finished test, as the browser stores it. */
export const TestResult = z.object({
  /** End of the test, as an ISO time stamp. */
  testedAt: z.string(),
  /** Kind of the network, if the browser reports it. */
  network: z.string(),
  direct: PathResult,
  relay: PathResult,
  /** Best first. */
  decoders: z.array(Decoder),
});
export type TestResult = z.infer<typeof TestResult>;

/** Returns the path that a game would take, with its figures; undefined if no path works. */
export function findUsedPath({
  direct,
  relay,
}: Pick<TestResult, "direct" | "relay">): { way: "direct" | "relay"; figures: PathFigures } | undefined {
  if (direct.state === "works") return { way: "direct", figures: direct.figures };
  if (relay.state === "works") return { way: "relay", figures: relay.figures };
  return undefined;
}

/** Returns the kind of network, such as `wifi`; `unknown` if the browser does not report it. */
export function networkKind(): string {
  const connection: unknown = Reflect.get(navigator, "connection");
  if (typeof connection !== "object" || connection === null) return "unknown";
  const kind: unknown = Reflect.get(connection, "type");
  return typeof kind === "string" ? kind : "unknown";
}

/** Stores the result in this browser and replaces an earlier one. */
export function storeTestResult(result: TestResult): void {
  // Without usable storage the result is valid for as long as the page shows it.
  accessStorage(
    () => localStorage,
    (items) => items.setItem(storageKey, JSON.stringify(result)),
  );
}

/** Returns the last result if it is at most a day old and from the current kind of network. */
export function readTestResult(now: number = Date.now()): TestResult | undefined {
  const result = TestResult.safeParse(readJson()).data;
  return result !== undefined && isCurrent(result, now, networkKind()) ? result : undefined;
}

/** Returns whether a result is still valid at this time and on this kind of network. */
export function isCurrent(
  { testedAt, network }: Pick<TestResult, "testedAt" | "network">,
  now: number,
  presentNetwork: string,
): boolean {
  const age = now - Date.parse(testedAt);
  return network === presentNetwork && age >= 0 && age <= freshMs;
}

function readJson(): unknown {
  // Text that is not JSON counts as no result.
  return accessStorage(
    () => localStorage,
    (items): unknown => JSON.parse(items.getItem(storageKey) ?? "null"),
  );
}

/**
 * Returns the initial bitrate of a launch after this test; empty if the test did not measure the bandwidth.
 * The rate controller adapts it from there.
 */
export function chooseLaunchStart(result: TestResult | undefined): LaunchStart {
  const figures = result && findUsedPath(result)?.figures;
  if (figures?.bandwidthKbps === undefined) return {};
  const { bandwidthKbps, loss } = figures;
  const share = loss > highLoss ? startShare / 2 : startShare;
  return {
    startKbps: Math.min(startBounds.max, Math.max(startBounds.min, Math.round(bandwidthKbps * share))),
  };
}
