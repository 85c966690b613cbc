import type { Clock, Timer } from "#runtime/scheduling/clock.ts";
import { InputActivity } from "#contracts/inputActivity.ts";
import { maxInputMessageBytes, StreamInput } from "#contracts/stream.ts";
import type { QualityRequest } from "#contracts/streamQuality.ts";
import type { DesktopInput } from "./desktopInput.ts";
import { readGamepad } from "./gamepad.ts";
import type { Gamepads } from "./gamepads.ts";
import { createInputPacer, type GameInput } from "./inputPacer.ts";

export interface InputRouterOptions {
  desktop: DesktopInput;
  gamepads: Pick<Gamepads, "connect" | "set" | "unplug" | "rest">;
  clock: Pick<Clock, "now" | "monotonicMs" | "setTimer">;
}

/**
 * A browser that announced `held` messages and sends nothing for this long has stopped reading the keyboard,
 * for example behind a dialog of the browser: releases may be lost.
 */
const heldTimeoutMs = 3_000;

/** Handlers of messages that are not game input, and of what the player has to be told. */
export interface ControlHandlers {
  pong: (n: number) => void;
  /** The player requests a different picture quality. */
  quality: (wish: QualityRequest) => void;
  /** Everything was released, because the browser sends nothing any more. */
  released: () => void;
}

/** Turns the player's messages into game input. */
export interface InputRouter {
  /** Handles a data channel message. Counts and drops malformed ones. */
  handle(message: string | Buffer | ArrayBuffer, control: ControlHandlers): void;
  /** Answers pings and drops everything else, because this viewer only watches. */
  handleWatching(message: string | Buffer | ArrayBuffer, control: ControlHandlers): void;
  /** Releases everything. Call it when the player has left or the page has lost the focus. */
  releaseAll(): void;
  /** Returns counts since the start and the time of the player's last input. */
  state(): { accepted: number; rejected: number; lastInputAt: number | null };
}

export function createInputRouter({ desktop, gamepads, clock }: InputRouterOptions): InputRouter {
  let accepted = 0;
  let rejected = 0;
  let lastInputAt: number | null = null;
  const activity = new InputActivity();
  /** Runs while the browser has to send its held keys. */
  let expiry: Timer | undefined;

  const releaseAll = () => {
    expiry?.cancel();
    expiry = undefined;
    pacer.reset();
    desktop.releaseAll();
    gamepads.rest();
  };
  const apply = (input: GameInput) => {
    switch (input.t) {
      case "key":
        desktop.key(input.c, input.d === 1, input.k);
        break;
      case "text":
        desktop.type(input.s);
        break;
      case "move":
        desktop.movePointer(input.x, input.y, input.e === 1);
        break;
      case "rel":
        desktop.movePointerBy(input.x, input.y);
        break;
      case "btn":
        desktop.button(input.b, input.d === 1);
        break;
      case "wheel":
        desktop.wheel(input.x, input.y);
        break;
      case "pad":
        gamepads.set(input.i ?? 0, readGamepad(input));
        break;
      case "unplug":
        gamepads.unplug(input.i);
        break;
      case "held":
        desktop.hold(input.k, input.b);
        break;
      case "locks":
        desktop.setLocks({ caps: input.caps === 1, num: input.num === 1 });
        break;
    }
  };
  const expectNext = (released: () => void) => {
    expiry?.cancel();
    expiry = clock.setTimer(heldTimeoutMs, () => {
      releaseAll();
      released();
    });
  };
  const pacer = createInputPacer({
    apply,
    earliestMs: (input) => (input.t === "pad" ? gamepads.connect(input.i ?? 0) : 0),
    clock,
  });
  return {
    handle(message, control) {
      const input = parseInput(message);
      if (!input) {
        rejected++;
        return;
      }
      accepted++;
      if (activity.isAction(input)) lastInputAt = clock.now().getTime();
      if (input.t === "held" || expiry !== undefined) expectNext(control.released);
      switch (input.t) {
        case "ping":
          control.pong(input.n);
          break;
        case "quality":
          control.quality(input);
          break;
        case "release":
          releaseAll();
          break;
        default:
          pacer.push(input);
      }
    },
    handleWatching(message, { pong }) {
      const input = parseInput(message);
      if (input?.t === "ping") pong(input.n);
      else rejected++;
    },
    releaseAll,
    state: () => ({ accepted, rejected, lastInputAt }),
  };
}

function parseInput(message: string | Buffer | ArrayBuffer): StreamInput | undefined {
  if (typeof message !== "string" || message.length > maxInputMessageBytes) return undefined;
  try {
    return StreamInput.safeParse(JSON.parse(message)).data;
  } catch {
    return undefined; // Not JSON.
  }
}
