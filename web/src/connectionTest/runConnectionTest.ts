import { ApiError, isApiError } from "../client/apiError.ts";
import { postConnectionTest, readIceServers } from "../client/connectionTests.ts";
import { cannotStream, canStream } from "../stream/canStream.ts";
import { networkKind, type TestResult, type PathResult, type Decoder } from "./testResult.ts";
import { PathBlocked, TestConnection, type TestConnectionOptions } from "./testConnection.ts";
import { codecEncodingNames, softwareCodecs, VideoCodec } from "#contracts/videoCodec.ts";

/** The picture that games send by default. */
const picture = { width: 1_280, height: 720, bitrate: 8_000_000, framerate: 60 };

/** What is being measured. */
export type TestStep = "connecting" | "loss" | "bandwidth";

interface MeasureOptions extends TestConnectionOptions {
  /** Whether the burst of three seconds is sent, too. */
  withBandwidth: boolean;
  onStep: (step: TestStep) => void;
}

/** Packets stopped to go the way in the middle of a test. */
export class TestBrokeOff extends Error {
  override readonly name = "TestBrokeOff";
}

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

/**
 * Measures one way to a game server. Throws what `sdpAnswer` throws, TestBrokeOff, and AbortError when the
 * signal is aborted.
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

/**
 * Returns which of the streamers' codecs this browser decodes, best first: those in hardware before others,
 * else in the streamers' order.
 */
async function findDecoders(): Promise<Decoder[]> {
  const found = await Promise.all(
    knownCodecs().map(async (codec) => ({ codec, isHardware: await isHardware(codec) })),
  );
  return found.toSorted((a, b) => Number(b.isHardware === true) - Number(a.isHardware === true));
}

/**
 * A browser that does not tell, as Firefox before 123, has those that WebRTC demands of each (RFC 7742):
 * every node encodes the same.
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

/** Browsers tell it as decoding that saves power; null where they do not tell. */
async function isHardware(codec: VideoCodec): Promise<boolean | null> {
  try {
    const { supported, powerEfficient } = await navigator.mediaCapabilities.decodingInfo({
      type: "webrtc",
      video: { contentType: mimeTypeOf(codec), ...picture },
    });
    return supported ? powerEfficient : null;
  } catch {
    return null; // This browser answers no questions about WebRTC.
  }
}
