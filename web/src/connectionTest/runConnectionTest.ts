import { codecEncodingNames, softwareCodecs, VideoCodec } from "#contracts/videoCodec.ts";
import { ApiError, isApiError } from "../client/apiError.ts";
import { postConnectionTest, readIceServers } from "../client/connectionTests.ts";
import { canStream } from "../stream/canStream.ts";
import { PathBlocked, TestConnection, type TestConnectionOptions } from "./testConnection.ts";
import { networkKind, type TestResult, type PathResult, type Decoder } from "./testResult.ts";

/** The default picture of games. */
const picture = { width: 1_280, height: 720, bitrate: 8_000_000, framerate: 60 };

/** The current measurement. */
export type TestStep = "connecting" | "loss" | "bandwidth";

interface MeasureOptions extends TestConnectionOptions {
  /** Whether the burst of three seconds is sent as well. */
  withBandwidth: boolean;
  onStep: (step: TestStep) => void;
}

/** Packets stopped arriving in the middle of a test. */
export class TestInterrupted extends Error {
  override readonly name = "TestInterrupted";
}

export interface RunOptions {
  signal: AbortSignal;
  onStep: (way: "direct" | "relay", step: TestStep) => void;
}

/** The browser has no WebRTC, so there is nothing to test. */
export class NoWebRtc extends Error {
  override readonly name = "NoWebRtc";
}

/**
 * Tests the paths to a game server one after the other, so that they do not compete for bandwidth: first
 * directly by UDP, then through a relay if there is one. The bandwidth is measured on the path that a game
 * would take. Throws ApiError when no server answers, and NoWebRtc in a browser without WebRTC. If the direct
 * path works, a failed test of the relay is reported as `untested`.
 */
export async function runConnectionTest({ signal, onStep }: RunOptions): Promise<TestResult> {
  if (!canStream()) throw new NoWebRtc();
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
          // The result for the path that a game would take is enough.
          const isOfRelay =
            error instanceof TestInterrupted ||
            (error instanceof ApiError && !isApiError(error, "unauthorized"));
          if (direct.state !== "works" || signal.aborted || !isOfRelay) throw error;
          return { state: "untested" } as const;
        });
  return { testedAt: new Date().toISOString(), network: networkKind(), direct, relay, decoders };
}

/**
 * Measures one path to a game server. Throws the errors of `sdpAnswer`, TestInterrupted, and AbortError when
 * the signal is aborted.
 */
async function measurePath({ withBandwidth, onStep, ...options }: MeasureOptions): Promise<PathResult> {
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
    // Packets that stop after the start do not mean a firewall: another test of the player may have ended
    // this one.
    throw error instanceof PathBlocked ? new TestInterrupted() : error;
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

/**
 * Returns the codecs of the streamers that this browser decodes: those with a hardware decoder first,
 * otherwise in the order of the streamers.
 */
async function findDecoders(): Promise<Decoder[]> {
  const found = await Promise.all(
    knownCodecs().map(async (codec) => ({ codec, isHardware: await isHardware(codec) })),
  );
  return found.toSorted((a, b) => Number(b.isHardware === true) - Number(a.isHardware === true));
}

/**
 * Browsers without `getCapabilities`, such as Firefox before 123, have the codecs that WebRTC requires (RFC
 * 7742), which every node encodes.
 */
function knownCodecs(): readonly VideoCodec[] {
  if (!("getCapabilities" in RTCRtpReceiver)) return softwareCodecs;
  const offered = RTCRtpReceiver.getCapabilities("video")?.codecs ?? [];
  return VideoCodec.options.filter((codec) =>
    offered.some(({ mimeType }) => mimeType.toLowerCase() === mimeTypeOf(codec).toLowerCase()),
  );
}

function mimeTypeOf(codec: VideoCodec): string {
  return `video/${codecEncodingNames[codec]}`;
}

/** Browsers report hardware decoding as power efficient. Returns null if the browser does not report it. */
async function isHardware(codec: VideoCodec): Promise<boolean | null> {
  try {
    const { supported, powerEfficient } = await navigator.mediaCapabilities.decodingInfo({
      type: "webrtc",
      video: { contentType: mimeTypeOf(codec), ...picture },
    });
    return supported ? powerEfficient : null;
  } catch {
    return null; // This browser reports nothing about WebRTC.
  }
}
