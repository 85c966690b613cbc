import type { VideoCodec } from "#contracts/stream.ts";
import { usedPath, type TestResult } from "./testResult.ts";

/** What a launch is told of the connection, as its `quality` takes it. */
export interface LaunchQuality {
  preset?: "auto" | "lowLatency" | "sharp" | "dataSaver";
  maxKbps?: number;
  startKbps?: number;
}

/** What a stream starts with of what the way carries: sound, repairs and others in the house need the rest. */
const startShare = 0.6;
const startBounds = { min: 300, max: 8_000 };
/** With more loss the way may be full already. */
const highLoss = 0.02;
const saverBelowKbps = 2_000;
const sharpFromKbps = 10_000;

/** Returns what a launch should begin with after this test; empty where the test says nothing of it. The rate controller goes on from there. */
export function launchQualityFrom(result: TestResult | undefined): LaunchQuality {
  const figures = result && usedPath(result)?.figures;
  if (result === undefined || figures?.bandwidthKbps === undefined) return {};
  const { bandwidthKbps, loss } = figures;
  const share = loss > highLoss ? startShare / 2 : startShare;
  const startKbps = Math.min(startBounds.max, Math.max(startBounds.min, Math.round(bandwidthKbps * share)));
  if (bandwidthKbps < saverBelowKbps) return { preset: "dataSaver", startKbps };
  const isSharp = bandwidthKbps >= sharpFromKbps && loss <= highLoss / 2 && result.decoders[0]?.isHardware === true;
  return { startKbps, ...isSharp && { preset: "sharp" } };
}

/** Returns the codec to ask for first: the one that this browser decodes in hardware; undefined where that makes no difference. */
export function preferredCodecFrom(result: TestResult | undefined): VideoCodec | undefined {
  const best = result?.decoders[0];
  return best?.isHardware === true ? best.codec : undefined;
}
