/**
 * The protocol between a browser and a session's streamer: the WHEP constants, the messages that the browser
 * sends over the data channel (input and control), and the notices that it receives. Each message is a JSON
 * object with its type in `t`.
 */
import { z } from "zod";
import { acceleratedReasons } from "./crd/gameSessionReasons.ts";
import type { ErrorCode } from "./http/errors.ts";
import { hasBothSides, qualityFields, QualityMaximum, StreamQuality } from "./streamQuality.ts";
import { GameEndReason } from "./termination.ts";
import { VideoCodec } from "./videoCodec.ts";

/**
 * Signalling over HTTP (WHEP). POST an offer to get an answer, with the path of the resource in Location.
 * DELETE that path to end the connection.
 */
export const whep = {
  path: "/whep",
  contentType: "application/sdp",
  maxOfferBytes: 65_536,
  /**
   * Maximum time that an offer stays pending while the streamer is not running yet. It then fails with
   * `not_ready` and can be sent again.
   */
  pendingOfferSeconds: 20,
  /** Header with the session of an offer that the API forwards to a streamer. */
  sessionHeader: "joypod-session",
  /**
   * `?client=<id>`: a random id that the page keeps per tab. A client replaces its earlier connection without
   * asking.
   */
  clientParameter: "client",
  /** `?takeover=true`: this viewer replaces another one, which receives a `taken-over` notice. */
  takeoverParameter: "takeover",
  /** Label of the only data channel, which the browser opens ordered and reliable. */
  dataChannel: "input",
} as const;

/** Port of a streamer for signalling, probes and status, on the pod's address. */
export const signalPort = 8080;

/** The `client` parameter of a WHEP request. */
export const WhepClientId = z.string().regex(/^[A-Za-z0-9_-]{8,64}$/);

/** Errors in a streamer's response to a WHEP request. See http/errors.ts for statuses and meanings. */
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

/** Errors in a streamer's response to a request whose ticket is missing, invalid, or for another purpose. */
export const TicketErrorCode = z.enum(["unauthorized", "forbidden"] as const satisfies readonly ErrorCode[]);
export type TicketErrorCode = z.infer<typeof TicketErrorCode>;

/** Body of the error response to a request with a rejected ticket. */
export const TicketError = z.object({ error: TicketErrorCode, message: z.string() });

/** Body of the error response to a WHEP request. */
export const WhepError = z.object({ error: WhepErrorCode, message: z.string() });
export type WhepError = z.infer<typeof WhepError>;

/** Longer data channel messages are dropped unread. */
export const maxInputMessageBytes = 512;

/**
 * Absolute pointer positions are integers from 0 (left, top) to this value (right, bottom edge of the
 * picture).
 */
export const pointerScale = 65_535;

/** Gamepad sticks range from minus this value to this value, triggers from 0 to `triggerScale`. */
export const stickScale = 32_767;
export const triggerScale = 255;

/** A player has at most this many gamepads in the game. */
export const maxGamepads = 4;

/** Gamepads vibrate with a strength from 0 to this value. */
export const rumbleScale = 65_535;

/**
 * Buttons of a gamepad message by bit, in the order of the browser's standard mapping without the two
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
const padIndex = z
  .int()
  .min(0)
  .max(maxGamepads - 1);
const rumble = z.int().min(0).max(rumbleScale);

/**
 * A key is pressed (1) or released (0), identified by `KeyboardEvent.code`. Unknown codes are ignored. With
 * `k`, the `KeyboardEvent.key` of a press, the game reads this text from the key.
 */
export const KeyInput = z.object({
  t: z.literal("key"),
  c: z.string().min(1).max(24),
  d: pressed,
  k: z.string().min(1).max(16).optional(),
});
/** Longer text is split into several messages. */
export const maxTextLength = 200;
/** Text to type into the game, such as from an input method or the clipboard. A line break is Return. */
export const TextInput = z.object({ t: z.literal("text"), s: z.string().min(1).max(maxTextLength) });
/**
 * The pointer is at this position in the picture. With `e` it came there from somewhere else: it entered the
 * picture, or was unlocked. A game that turns its view by the pointer's movement then does not turn it.
 */
export const MoveInput = z.object({
  t: z.literal("move"),
  x: pointerCoordinate,
  y: pointerCoordinate,
  e: z.literal(1).optional(),
});
/** The pointer moved by this many pixels of the game (pointer lock). */
export const RelativeInput = z.object({ t: z.literal("rel"), x: pointerDistance, y: pointerDistance });
/**
 * A mouse button is pressed or released, identified by `MouseEvent.button` (0 left, 1 middle, 2 right, 3
 * back, 4 forward).
 */
export const ButtonInput = z.object({ t: z.literal("btn"), b: z.int().min(0).max(4), d: pressed });
/** Whole wheel notches. Positive values are right and down, as in `WheelEvent`. */
export const WheelInput = z.object({ t: z.literal("wheel"), x: wheelNotches, y: wheelNotches });
/**
 * The complete state of one of the player's gamepads: left and right stick (x right, y down), triggers, and
 * `gamepadButtons` as bits. `i` is the gamepad, 0 if absent. The first message of a gamepad connects it to
 * the game.
 */
export const PadInput = z.object({
  t: z.literal("pad"),
  i: padIndex.optional(),
  s: z.tuple([stick, stick, stick, stick]),
  l: trigger,
  r: trigger,
  b: z
    .int()
    .min(0)
    .max(2 ** gamepadButtons.length - 1),
});
/** A gamepad was disconnected. */
export const UnplugInput = z.object({ t: z.literal("unplug"), i: padIndex });
/** Releases everything that is held, for example when the page loses focus. */
export const ReleaseInput = z.object({ t: z.literal("release") });
/** Longer lists of held keys are not sent. People have ten fingers. */
export const maxHeldKeys = 24;
/** After its first `held` message, a browser that holds something sends a message at least this often. */
export const heldEveryMs = 500;
/**
 * Everything that the player holds: keys by `KeyboardEvent.code`, mouse buttons as the bits of
 * `MouseEvent.buttons`. All other keys and buttons are released, and missing ones are pressed. A browser
 * repeats it every `heldEveryMs`. If its messages stop for some seconds, everything is released.
 */
export const HeldInput = z.object({
  t: z.literal("held"),
  k: z.array(z.string().min(1).max(24)).max(maxHeldKeys),
  b: z.int().min(0).max(31),
});
/** The state of Caps Lock and Num Lock on the player's keyboard; 1 is on. */
export const LocksInput = z.object({ t: z.literal("locks"), caps: pressed, num: pressed });
/** Answered immediately by `pong` with the same number. */
export const PingInput = z.object({ t: z.literal("ping"), n: z.number() });

/**
 * Changes the quality of the picture in the same connection. Each message is complete: absent fields have the
 * preset's values. A `quality` notice confirms the change. If several messages arrive within a second, the
 * last one counts.
 */
export const QualityInput = z.object({ t: z.literal("quality"), ...qualityFields }).refine(...hasBothSides);

/** Any message from the browser. */
export const StreamInput = z.discriminatedUnion("t", [
  KeyInput,
  TextInput,
  MoveInput,
  RelativeInput,
  ButtonInput,
  WheelInput,
  PadInput,
  UnplugInput,
  HeldInput,
  LocksInput,
  ReleaseInput,
  PingInput,
  QualityInput,
]);
export type StreamInput = z.infer<typeof StreamInput>;

/** First message on an open data channel: the current picture and its encoder. */
export const HelloNotice = z.object({
  t: z.literal("hello"),
  width: z.int(),
  height: z.int(),
  fps: z.int(),
  codec: VideoCodec,
  /** Name of the encoder in use, such as `x264enc`. */
  encoder: z.string(),
  /** Whether the game has opened a gamepad. */
  gamepad: z.boolean(),
});
/** State of the rate controller, sent every two seconds while connected. */
export const RateNotice = z.object({
  t: z.literal("rate"),
  /** What the encoder is set to. */
  targetKbps: z.int(),
  /** Queueing delay on the way to the browser, relative to the smallest delay measured. */
  queueMs: z.int(),
  /** Share of packets lost in the last second, from 0 to 1. */
  loss: z.number(),
});
/**
 * The current quality. Sent after `hello` and in response to each `quality` message, even if nothing changed.
 */
export const QualityNotice = z.object({
  t: z.literal("quality"),
  ...StreamQuality.shape,
  /** The highest quality that this session can be set to. */
  maximum: QualityMaximum,
});
/**
 * A gamepad vibrates with this strength, for `ms` or until the next notice about it. While it vibrates, the
 * notice is repeated in time. Both strengths are 0 when it stops.
 */
export const RumbleNotice = z.object({
  t: z.literal("rumble"),
  i: padIndex,
  /** The motor of low frequency. */
  strong: rumble,
  /** The motor of high frequency. */
  weak: rumble,
  ms: z.int().min(0),
});
export const PongNotice = z.object({ t: z.literal("pong"), n: z.number() });
/** Whether the game hides its pointer. Sent after `hello` and after each change. */
export const PointerNotice = z.object({ t: z.literal("pointer"), hidden: z.boolean() });
/**
 * Everything held was released because the browser sent nothing for some seconds. The browser presses again
 * what is still held.
 */
export const ReleasedNotice = z.object({ t: z.literal("released") });
/**
 * Somebody has played since the last such notice, on any seat: a key, the pointer, a touch, or a gamepad
 * beyond its dead zone. Sent at most every ten seconds. A page that receives none keeps no session alive.
 */
export const InputNotice = z.object({ t: z.literal("input") });
/** Another tab or browser of the player took over the session. This connection closes. */
export const TakenOverNotice = z.object({ t: z.literal("taken-over") });
/** The session is ending: the game exited (`by: "game"`) or the pod is being stopped (`by: "streamer"`). */
export const EndedNotice = z.object({
  t: z.literal("ended"),
  by: z.enum(["game", "streamer"]),
  /** `unknown` if the game left no report of its end. */
  reason: z.union([GameEndReason, z.literal("unknown")]),
  exitCode: z.int().nullable(),
});

/** Any message to the browser. Browsers ignore unknown ones. */
export const StreamNotice = z.discriminatedUnion("t", [
  HelloNotice,
  RateNotice,
  QualityNotice,
  RumbleNotice,
  PongNotice,
  PointerNotice,
  ReleasedNotice,
  InputNotice,
  TakenOverNotice,
  EndedNotice,
]);
export type StreamNotice = z.infer<typeof StreamNotice>;

/** Why a session that should use a GPU renders in software, as in the Accelerated condition. */
export const RenderingObstacle = z.enum(acceleratedReasons).exclude(["rendersOnGpu"]);
export type RenderingObstacle = z.infer<typeof RenderingObstacle>;

/**
 * `GET /status` of a streamer: the state of the pod without a request to the cluster. The operator reads it
 * with its ticket.
 */
export const StreamerStatus = z.object({
  ready: z.boolean(),
  viewers: z.int().min(0),
  /** Connections since the start, including reloads. */
  connections: z.int().min(0),
  /** Time of the player's last input; null before the first. */
  lastInputAt: z.iso.datetime().nullable(),
  /** `waiting` until the game container has written its first report. */
  game: z.enum(["waiting", "running", "ended"]),
  /** Whether the game has opened a window. Absent until the streamer is ready, and from earlier versions. */
  hasWindow: z.boolean().optional(),
  encoder: z.string(),
  codec: VideoCodec,
  /** Frames sent in the last second. */
  fps: z.number().min(0).max(1_000),
  /** Video sent in the last second, in kbit/s. */
  kbps: z.number().min(0).max(10_000_000),
  mediaRestarts: z.int().min(0),
  /**
   * The renderer and the limits of the picture. Absent until the streamer is ready, and from earlier
   * versions.
   */
  picture: z
    .object({
      /** OpenGL's name of the renderer; `software` if no GPU was requested. */
      renderer: z
        .string()
        .max(160)
        .regex(/^[\x20-\x7e]*$/),
      width: z.int().min(1).max(8_192),
      height: z.int().min(1).max(8_192),
      /** Maximum frames per second. */
      maxFps: z.int().min(1).max(240),
      obstacle: RenderingObstacle.optional(),
    })
    .optional(),
  /** The viewer's connection. Absent without a viewer, and from earlier versions. */
  connection: z
    .object({
      /** What the encoder is set to. */
      targetKbps: z.number().min(0).max(10_000_000),
      /** Queueing delay on the way to the browser. */
      queueMs: z.number().min(0).max(600_000),
      /** Share of packets lost in the last second. */
      loss: z.number().min(0).max(1),
      /**
       * Round-trip time between browser and streamer, measured over the data channel; null before the first
       * measurement.
       */
      roundTripMs: z.number().min(0).max(600_000).nullable(),
    })
    .optional(),
});
export type StreamerStatus = z.infer<typeof StreamerStatus>;
