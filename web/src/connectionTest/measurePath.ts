import type { PathResult } from "./testResult.ts";
import { PathBlocked, TestConnection, type TestConnectionOptions } from "./testConnection.ts";

/** What is being measured. */
export type TestStep = "connecting" | "loss" | "bandwidth";

export interface MeasureOptions extends TestConnectionOptions {
  /** Whether the burst of three seconds is sent, too. */
  withBandwidth: boolean;
  onStep: (step: TestStep) => void;
}

/** Packets stopped to go the way in the middle of a test. */
export class TestBrokeOff extends Error {
  override readonly name = "TestBrokeOff";
}

/**
 * Measures one way to a game server. Throws what `sdpAnswer` throws, TestBrokeOff, and AbortError when the
 * signal is aborted.
 */
export async function measurePath({
  withBandwidth,
  onStep,
  ...options
}: MeasureOptions): Promise<PathResult> {
  const connection = new TestConnection(options);
  try {
    onStep("connecting");
    if (!(await opens(connection))) return { state: "blocked" };
    onStep("loss");
    const figures = await connection.measureLoss();
    if (!withBandwidth) return { state: "works", figures };
    onStep("bandwidth");
    return { state: "works", figures: { ...figures, ...(await connection.measureBandwidth()) } };
  } catch (error) {
    // A way that packets went and then did not says nothing of walls: another test of the player's may have
    // ended this one.
    throw error instanceof PathBlocked ? new TestBrokeOff() : error;
  } finally {
    connection.close();
  }
}

async function opens(connection: TestConnection): Promise<boolean> {
  try {
    await connection.open();
    return true;
  } catch (error) {
    if (error instanceof PathBlocked) return false;
    throw error;
  }
}
