import { usedPath, type TestResult } from "./testResult.ts";

/** What a launch is told of the connection; the player's own choice of quality stays beside it. */
export interface LaunchStart {
  startKbps?: number;
}

/**
 * What a stream starts with of what the way carries: sound, repairs and others in the house need the rest.
 */
const startShare = 0.6;
const startBounds = { min: 300, max: 8_000 };
/** With more loss the way may be full already. */
const highLoss = 0.02;

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
