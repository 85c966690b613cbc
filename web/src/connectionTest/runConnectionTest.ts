import { ApiError, isApiError } from "../client/apiError.ts";
import { postConnectionTest, readIceServers } from "../client/connectionTests.ts";
import { cannotStream, canStream } from "../stream/canStream.ts";
import { findDecoders } from "./decoders.ts";
import { measurePath, TestBrokeOff, type TestStep } from "./measurePath.ts";
import { networkKind } from "./networkKind.ts";
import type { TestResult } from "./testResult.ts";

export interface RunOptions {
  signal: AbortSignal;
  onStep: (way: "direct" | "relay", step: TestStep) => void;
}

/** The browser has no WebRTC, so that there is nothing to test. */
export class NoWebRtc extends Error {
  override readonly name = "NoWebRtc";
}

/**
 * Tests the ways to a game server one after the other, so that none takes bandwidth from another: first by
 * UDP alone, then by a relay, where there is one. The bandwidth is measured on the way that a game would
 * take. Throws ApiError when no server answers, and NoWebRtc in a browser without it; once the direct way
 * works, a relay's test that breaks off or is not answered does not end it without a result.
 */
export async function runConnectionTest({ signal, onStep }: RunOptions): Promise<TestResult> {
  if (!canStream()) throw new NoWebRtc(cannotStream);
  const [iceServers, decoders] = await Promise.all([readIceServers(signal), findDecoders()]);
  const measure = (way: "direct" | "relay", withBandwidth: boolean) =>
    measurePath({
      sdpAnswer: postConnectionTest,
      iceServers: way === "relay" ? iceServers : [],
      isRelayed: way === "relay",
      signal,
      withBandwidth,
      onStep: (step) => onStep(way, step),
    });
  const direct = await measure("direct", true);
  const relay =
    iceServers.length === 0
      ? ({ state: "absent" } as const)
      : await measure("relay", direct.state !== "works").catch((error: unknown) => {
          // What was found of the way that a game would take counts by itself.
          const isOfRelay =
            error instanceof TestBrokeOff ||
            (error instanceof ApiError && !isApiError(error, "unauthorized"));
          if (direct.state !== "works" || signal.aborted || !isOfRelay) throw error;
          return { state: "untested" } as const;
        });
  return { testedAt: new Date().toISOString(), network: networkKind(), direct, relay, decoders };
}
