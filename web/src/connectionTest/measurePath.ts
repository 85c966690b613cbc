import type { PathResult } from "./testResult.ts";
import { PathBlocked, TestConnection, type TestConnectionOptions } from "./testConnection.ts";

/** What is being measured. */
export type TestStep = "connecting" | "loss" | "bandwidth";

export interface MeasureOptions extends TestConnectionOptions {
  /** Whether the burst of three seconds is sent, too. */
  withBandwidth: boolean;
  onStep: (step: TestStep) => void;
}

/** Measures one way to a game server. Throws what `sdpAnswer` throws, and AbortError when the signal is aborted. */
export async function measurePath({ withBandwidth, onStep, ...options }: MeasureOptions): Promise<PathResult> {
  const connection = new TestConnection(options);
  try {
    onStep("connecting");
    await connection.open();
    onStep("loss");
    const figures = await connection.measureLoss();
    if (!withBandwidth) return { state: "works", figures };
    onStep("bandwidth");
    return { state: "works", figures: { ...figures, ...await connection.measureBandwidth() } };
  } catch (error) {
    if (error instanceof PathBlocked) return { state: "blocked" };
    throw error;
  } finally {
    connection.close();
  }
}
