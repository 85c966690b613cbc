/**
 * The protocol between a browser and a session's streamer: the WHEP constants, the messages that the browser
 * sends over the data channel (input and control) and the notices that it receives. Messages are JSON text,
 * one object each, discriminated by `t`.
 */
import { z } from "zod";
import { acceleratedReasons } from "./crd/gameSessionReasons.ts";
import type { ErrorCode } from "./http/errors.ts";
import { hasBothSides, qualityFields, QualityMaximum, StreamQuality } from "./streamQuality.ts";
import { GameEndReason } from "./termination.ts";
import { VideoCodec } from "./videoCodec.ts";

/**
 * Signalling over HTTP (WHEP): POST an offer, get an answer with the resource's path in Location; DELETE that
 * path to end the connection.
 */
export const whep = {
  path: "/whep",
  contentType: "application/sdp",
  maxOfferBytes: 65_536,
  /**
   * An offer for a session whose streamer does not run yet stays pending for this long at most; then it fails
   * with `not_ready`, and can be sent again.
   */
  pendingOfferSeconds: 20,
  /** Header in which the API names the session of an offer to its streamer. */
  sessionHeader: "joypod-session",
  /**
   * `?client=<id>`: a random id the page keeps in its tab; the same client replaces its own old connection
   * without asking.
   */
  clientParameter: "client",
  /** `?takeover=true`: this viewer replaces another one, which gets a `taken-over` notice. */
  takeoverParameter: "takeover",
  /** Label of the one data channel; the browser opens it, ordered and reliable. */
  dataChannel: "input",
} as const;

/** Port of a streamer's signalling, probes and status on its pod's address. */
export const signalPort = 8080;

/** The `client` parameter of a WHEP request. */
export const WhepClientId = z.string().regex(/^[A-Za-z0-9_-]{8,64}$/);

/**
 * The errors that a streamer answers a WHEP request with; statuses and meanings are those of every route, in
 * http/errors.ts.
 */
export const WhepErrorCode = z.enum([
  "viewer_active",
  "invalid_offer",
  "invalid_query",
  "unsupported_media_type",
  "offer_too_large",
  "not_ready",
  "not_found",
] as const satisfies readonly ErrorCode[]);
export type WhepErrorCode = z.infer<typeof WhepErrorCode>;

/**
 * The errors that a streamer answers a request with whose ticket is missing, not valid, or for something
 * else.
 */
export const TicketErrorCode = z.enum(["unauthorized", "forbidden"] as const satisfies readonly ErrorCode[]);
export type TicketErrorCode = z.infer<typeof TicketErrorCode>;

/** Body of the error response to a request that was refused by its ticket. */
export const TicketError = z.object({ error: TicketErrorCode, message: z.string() });

/** Body of a WHEP request's error response. */
export const WhepError = z.object({ error: WhepErrorCode, message: z.string() });
export type WhepError = z.infer<typeof WhepError>;

/** A data channel message longer than this is dropped unread. */
export const maxInputMessageBytes = 512;

/** Absolute pointer positions are integers from 0 (left, top) to this (right, bottom edge of the picture). */
export const pointerScale = 65_535;

/** Stick positions of a gamepad reach from minus this to plus this; triggers from 0 to `triggerScale`. */
export const stickScale = 32_767;
export const triggerScale = 255;

/**
 * Buttons of a gamepad message, by bit; the order is that of the browser's standard mapping without the two
 * triggers.
 */
export const gamepadButtons = [
  "south",
  "east",
  "west",
  "north",
  "leftShoulder",
  "rightShoulder",
  "select",
  "start",
  "leftStick",
  "rightStick",
  "up",
  "down",
  "left",
  "right",
  "guide",
] as const;

const pressed = z.union([z.literal(0), z.literal(1)]);
const pointerCoordinate = z.int().min(0).max(pointerScale);
const pointerDistance = z.int().min(-4_096).max(4_096);
const wheelNotches = z.int().min(-16).max(16);
const stick = z.int().min(-stickScale).max(stickScale);
const trigger = z.int().min(0).max(triggerScale);

/** A key by `KeyboardEvent.code` goes down (1) or up (0); codes the streamer does not know are ignored. */
export const KeyInput = z.object({ t: z.literal("key"), c: z.string().min(1).max(24), d: pressed });
/** The pointer is at this place of the picture. */
export const MoveInput = z.object({ t: z.literal("move"), x: pointerCoordinate, y: pointerCoordinate });
/** The pointer moved by this many pixels of the game (pointer lock). */
export const RelativeInput = z.object({ t: z.literal("rel"), x: pointerDistance, y: pointerDistance });
/** A mouse button by `MouseEvent.button` (0 left, 1 middle, 2 right, 3 back, 4 forward) goes down or up. */
export const ButtonInput = z.object({ t: z.literal("btn"), b: z.int().min(0).max(4), d: pressed });
/** Whole wheel notches; positive is right and down, as in `WheelEvent`. */
export const WheelInput = z.object({ t: z.literal("wheel"), x: wheelNotches, y: wheelNotches });
/**
 * The whole state of the player's gamepad: left and right stick (x right, y down), triggers, `gamepadButtons`
 * as bits.
 */
export const PadInput = z.object({
  t: z.literal("pad"),
  s: z.tuple([stick, stick, stick, stick]),
  l: trigger,
  r: trigger,
  b: z
    .int()
    .min(0)
    .max(2 ** gamepadButtons.length - 1),
});
/** Everything held is released, as when the page has lost the focus. */
export const ReleaseInput = z.object({ t: z.literal("release") });
/** Answered at once by `pong` with the same number. */
export const PingInput = z.object({ t: z.literal("ping"), n: z.number() });

/**
 * The picture's quality from now on, in the same connection. Each message says all of it: what is absent is
 * as the preset has it. Answered by a `quality` notice once it holds. Of messages within a second the last
 * one counts.
 */
export const QualityInput = z.object({ t: z.literal("quality"), ...qualityFields }).refine(...hasBothSides);

/** Any message from the browser. */
export const StreamInput = z.discriminatedUnion("t", [
  KeyInput,
  MoveInput,
  RelativeInput,
  ButtonInput,
  WheelInput,
  PadInput,
  ReleaseInput,
  PingInput,
  QualityInput,
]);
export type StreamInput = z.infer<typeof StreamInput>;

/** First message on an open data channel: what the picture is at that moment and who encodes it. */
export const HelloNotice = z.object({
  t: z.literal("hello"),
  width: z.int(),
  height: z.int(),
  fps: z.int(),
  codec: VideoCodec,
  /** Name of the encoder in use, such as `x264enc`. */
  encoder: z.string(),
  /** Whether a gamepad the player moves reaches the game as a gamepad. */
  gamepad: z.boolean(),
});
/** State of the rate controller; sent every two seconds while connected. */
export const RateNotice = z.object({
  t: z.literal("rate"),
  /** What the encoder is set to. */
  targetKbps: z.int(),
  /** Queueing delay on the way to the browser, above the smallest seen. */
  queueMs: z.int(),
  /** Share of packets lost in the last second, 0 to 1. */
  loss: z.number(),
});
/**
 * The quality that holds: sent after `hello`, and in answer to each `quality` message, also when nothing
 * could be changed.
 */
export const QualityNotice = z.object({
  t: z.literal("quality"),
  ...StreamQuality.shape,
  /** The most that this session can be set to. */
  maximum: QualityMaximum,
});
export const PongNotice = z.object({ t: z.literal("pong"), n: z.number() });
/**
 * Everything held was released, because nothing came from the browser for some seconds: what is still held is
 * to be pressed again.
 */
export const ReleasedNotice = z.object({ t: z.literal("released") });
/** Another tab or browser of the player took the session over; this connection closes. */
export const TakenOverNotice = z.object({ t: z.literal("taken-over") });
/** The session ends, and why: the game did by itself (`by: "game"`) or the pod is being stopped. */
export const EndedNotice = z.object({
  t: z.literal("ended"),
  by: z.enum(["game", "streamer"]),
  /** `unknown` when the game left no report of its end. */
  reason: z.union([GameEndReason, z.literal("unknown")]),
  exitCode: z.int().nullable(),
});

/** Any message to the browser. Unknown ones are to be ignored. */
export const StreamNotice = z.discriminatedUnion("t", [
  HelloNotice,
  RateNotice,
  QualityNotice,
  PongNotice,
  ReleasedNotice,
  TakenOverNotice,
  EndedNotice,
]);
export type StreamNotice = z.infer<typeof StreamNotice>;

/** Why a session that was to have a GPU renders in software, as condition Accelerated says it. */
export const RenderingObstacle = z.enum(acceleratedReasons).exclude(["rendersOnGpu"]);
export type RenderingObstacle = z.infer<typeof RenderingObstacle>;

/**
 * `GET /status` of a streamer, for the operator by its ticket: the state of the pod, without asking the
 * cluster.
 */
export const StreamerStatus = z.object({
  ready: z.boolean(),
  viewers: z.int().min(0),
  /** Connections since the start, reloads included. */
  connections: z.int().min(0),
  /** When the player last pressed, moved or turned anything; null before the first time. */
  lastInputAt: z.iso.datetime().nullable(),
  /** `waiting` until the game's container has written its first report. */
  game: z.enum(["waiting", "running", "ended"]),
  /**
   * Whether the game has opened a window; absent until the streamer is ready, and from streamers of earlier
   * versions.
   */
  hasWindow: z.boolean().optional(),
  encoder: z.string(),
  codec: VideoCodec,
  /** Frames sent in the last second. */
  fps: z.number().min(0).max(1_000),
  /** Video sent in the last second, in kbit/s. */
  kbps: z.number().min(0).max(10_000_000),
  mediaRestarts: z.int().min(0),
  /**
   * What was found to make the picture; absent until the streamer is ready, and from streamers of earlier
   * versions.
   */
  picture: z
    .object({
      /** OpenGL's name of what renders; `software` where there was no GPU to look for. */
      renderer: z
        .string()
        .max(160)
        .regex(/^[\x20-\x7e]*$/),
      width: z.int().min(1).max(8_192),
      height: z.int().min(1).max(8_192),
      /** Frames a second at most. */
      maxFps: z.int().min(1).max(240),
      obstacle: RenderingObstacle.optional(),
    })
    .optional(),
  /** The viewer's connection; absent without a viewer, and from streamers of earlier versions. */
  connection: z
    .object({
      /** What the encoder is set to. */
      targetKbps: z.number().min(0).max(10_000_000),
      /** Queueing delay on the way to the browser. */
      queueMs: z.number().min(0).max(600_000),
      /** Share of packets lost in the last second. */
      loss: z.number().min(0).max(1),
      /** Between browser and streamer, as the data channel measures it; null before it has. */
      roundTripMs: z.number().min(0).max(600_000).nullable(),
    })
    .optional(),
});
export type StreamerStatus = z.infer<typeof StreamerStatus>;
