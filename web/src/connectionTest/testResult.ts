import { z } from "zod";
import { VideoCodec } from "#contracts/videoCodec.ts";
import { usingStorage } from "../client/browser.ts";

/** What a launch is told of the connection; the player's own choice of quality stays beside it. */
interface LaunchStart {
  startKbps?: number;
}

/**
 * What a stream starts with of what the way carries: sound, repairs and others in the house need the rest.
 */
const startShare = 0.6;

const startBounds = { min: 300, max: 8_000 };

/** With more loss the way may be full already. */
const highLoss = 0.02;

const storageKey = "joypod.connectionTest";

const freshMs = 24 * 3_600_000;

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

/** Returns the kind of network that the browser is on, such as `wifi`; `unknown` where it does not say. */
export function networkKind(): string {
  const connection: unknown = Reflect.get(navigator, "connection");
  if (typeof connection !== "object" || connection === null) return "unknown";
  const kind: unknown = Reflect.get(connection, "type");
  return typeof kind === "string" ? kind : "unknown";
}

/** Keeps the result in this browser, in the place of an earlier one. */
export function storeTestResult(result: TestResult): void {
  // In a browser without storage, or with a full one, the result counts for as long as the page shows it.
  usingStorage(
    () => localStorage,
    (items) => items.setItem(storageKey, JSON.stringify(result)),
  );
}

/**
 * Returns the last result that still counts: no older than a day, and of the network that the browser is on;
 * else undefined.
 */
export function readTestResult(now: number = Date.now()): TestResult | undefined {
  const result = TestResult.safeParse(readJson()).data;
  return result !== undefined && isCurrent(result, now, networkKind()) ? result : undefined;
}

/** Whether a result counts at this time and on this kind of network. */
export function isCurrent(
  { testedAt, network }: Pick<TestResult, "testedAt" | "network">,
  now: number,
  presentNetwork: string,
): boolean {
  const age = now - Date.parse(testedAt);
  return network === presentNetwork && age >= 0 && age <= freshMs;
}

function readJson(): unknown {
  // What is no JSON is not ours, and counts as a storage that refuses.
  return usingStorage(
    () => localStorage,
    (items): unknown => JSON.parse(items.getItem(storageKey) ?? "null"),
  );
}

/**
 * Returns what a launch should begin with after this test; empty where the test says nothing of it. The rate
 * controller goes on from there.
 */
export function launchQualityFrom(result: TestResult | undefined): LaunchStart {
  const figures = result && usedPath(result)?.figures;
  if (figures?.bandwidthKbps === undefined) return {};
  const { bandwidthKbps, loss } = figures;
  const share = loss > highLoss ? startShare / 2 : startShare;
  return {
    startKbps: Math.min(startBounds.max, Math.max(startBounds.min, Math.round(bandwidthKbps * share))),
  };
}
