import type { PointerState } from "x11";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { XConnection } from "../display/xConnection.ts";
import { pointerScale } from "#contracts/stream.ts";
import type { GamePointer, Point } from "./gamePointer.ts";
import { createInputOrder } from "./inputOrder.ts";
import { keyCodeOf } from "./keyCodes.ts";
import type { KeyText } from "./keyText.ts";
import { createSwitches } from "./switches.ts";
import { createTypist } from "./typist.ts";

/** X buttons for `MouseEvent.button` 0 to 4. X buttons 4 to 7 belong to the wheel. */
const buttonNumbers = [1, 2, 3, 8, 9];
/** Bits of `MouseEvent.buttons` in the order of `MouseEvent.button`. */
const buttonBits = [1, 4, 2, 8, 16];
const wheelUp = 4;
const wheelDown = 5;
const wheelLeft = 6;
const wheelRight = 7;
const modifiers = ["Shift", "Control", "Alt", "Meta"]
  .flatMap((name) => [`${name}Left`, `${name}Right`])
  .map(keyCodeOf);

/** Keyboard and mouse of the display. */
export interface DesktopInput {
  /** Presses or releases a key. `typed` is the `KeyboardEvent.key` of a press, if it is known. */
  key(code: string, isDown: boolean, typed?: string): void;
  /** Types the text, before keys that are pressed later. */
  type(text: string): void;
  /** Moves the pointer to a position in the picture. See MoveInput for `isEntry`. */
  movePointer(x: number, y: number, isEntry: boolean): void;
  movePointerBy(x: number, y: number): void;
  button(button: number, isDown: boolean): void;
  wheel(x: number, y: number): void;
  /** Holds exactly these keys and the buttons of these `MouseEvent.buttons`. */
  hold(codes: readonly string[], buttons: number): void;
  /** Switches Caps Lock and Num Lock on or off, without a key press that the game would see. */
  setLocks(locks: { caps: boolean; num: boolean }): void;
  /** Releases everything that is held. */
  releaseAll(): void;
}

export interface DesktopInputDeps {
  connection: Pick<XConnection, "xtest" | "root" | "size" | "isBehind"> &
    Partial<Pick<XConnection, "view">> & {
      client: Pick<XConnection["client"], "QueryPointer">;
      xkb: Pick<XConnection["xkb"], "LatchLockState" | "ModMask" | "UseCoreKbd">;
    };
  /**
   * Returns the size of the picture, to which positions refer. It may differ in size from the display, and
   * show only a part of it.
   */
  picture: () => { width: number; height: number };
  pointer: GamePointer;
  text: KeyText;
  clock: Pick<Clock, "setTimer">;
}

/**
 * Injects input through XTEST and tracks what is held, so that a player who disconnects leaves nothing
 * pressed. Drops input while the display is behind.
 */
export function createDesktopInput(deps: DesktopInputDeps): DesktopInput {
  const { connection, picture, pointer } = deps;
  const { client, xtest, xkb, root, isBehind } = connection;
  const buttons = createSwitches(connection, { press: xtest.ButtonPress, release: xtest.ButtonRelease });
  const query = (take: (state: PointerState | undefined) => void) => {
    if (isBehind()) take(undefined);
    else client.QueryPointer(root, (error, state) => take(error ? undefined : state));
  };
  const order = createInputOrder(query);
  const keyboard = createKeyboard(deps);

  /** The server has moved the pointer when it reads the second request. */
  const moveBy = ({ x, y }: Point) => {
    if (isBehind()) return;
    xtest.FakeInput(xtest.MotionNotify, 1, 0, root, x, y);
    query((state) => state && pointer.leaveAt(toPoint(state)));
  };
  const shownArea = () => connection.view ?? { x: 0, y: 0, ...connection.size };
  const toPixels = ({ x, y }: Point): Point => {
    const view = shownArea();
    const { width, height } = picture();
    const [across, down] = [view.width * height, view.height * width];
    return {
      x: view.x + toPixel(x, view.width, across / down),
      y: view.y + toPixel(y, view.height, down / across),
    };
  };
  const turnWheel = (notches: number, negative: number, positive: number) => {
    const number = notches < 0 ? negative : positive;
    for (let left = Math.abs(notches); left > 0; left--) {
      buttons.set(number, true);
      buttons.set(number, false);
    }
  };
  return {
    key(code, isDown, typed) {
      const keyCode = keyCodeOf(code);
      if (keyCode === undefined) return;
      if (isDown && typed !== undefined && deps.text.isWanted(keyCode, typed))
        order.ask((state) => keyboard.press(keyCode, state && { typed, mask: state.keyMask }));
      else order.run(() => (isDown ? keyboard.press(keyCode) : keyboard.release(keyCode)));
    },
    type: (text) => order.run(() => keyboard.type(text)),
    movePointer(x, y, isEntry) {
      order.move({ x, y, isEntry }, (target, state) =>
        moveBy(pointer.distanceTo(toPixels(target), target.isEntry, toPoint(state), shownArea())),
      );
    },
    movePointerBy(x, y) {
      order.run(() => {
        query((state) => state && pointer.moveBy(toPoint(state)));
        moveBy({ x, y });
      });
    },
    button(button, isDown) {
      const number = buttonNumbers[button];
      if (number !== undefined) order.run(() => buttons.set(number, isDown));
    },
    wheel(x, y) {
      order.run(() => {
        turnWheel(x, wheelLeft, wheelRight);
        turnWheel(y, wheelUp, wheelDown);
      });
    },
    hold(codes, held) {
      const keyCodes = codes.map(keyCodeOf).filter((keyCode) => keyCode !== undefined);
      const wanted = buttonNumbers.filter((_number, button) => (held & (buttonBits[button] ?? 0)) !== 0);
      order.run(() => {
        keyboard.hold(keyCodes);
        buttons.holdOnly(new Set(wanted));
      });
    },
    setLocks({ caps, num }) {
      const { Lock, Mod2 } = xkb.ModMask;
      const locked = (caps ? Lock : 0) | (num ? Mod2 : 0);
      order.run(() => {
        if (!isBehind()) xkb.LatchLockState(xkb.UseCoreKbd, Lock | Mod2, locked, false, 0, 0, 0, false, 0);
      });
    },
    releaseAll() {
      order.run(() => {
        keyboard.releaseAll();
        buttons.holdOnly(new Set());
      });
    },
  };
}

/** The display's keys. */
interface Keyboard {
  press(keyCode: number, text?: { typed: string; mask: number }): void;
  release(keyCode: number): void;
  hold(keyCodes: readonly number[]): void;
  type(text: string): void;
  releaseAll(): void;
}

function createKeyboard({ connection, text, clock }: DesktopInputDeps): Keyboard {
  const { xtest, root, isBehind } = connection;
  const keys = createSwitches(connection, { press: xtest.KeyPress, release: xtest.KeyRelease });
  /** Keys that are held in place of others, to type what no key of the display types. */
  const substitutes = new Map<number, number>();
  const heldAs = (keyCode: number) => substitutes.get(keyCode) ?? keyCode;
  const inject = (keyCode: number, isDown: boolean) => {
    if (!isBehind()) xtest.FakeInput(isDown ? xtest.KeyPress : xtest.KeyRelease, keyCode, 0, root, 0, 0);
  };
  const typist = createTypist({
    clock,
    keyFor: text.spareFor,
    press: inject,
    liftModifiers() {
      const lifted = keys.held().filter((keyCode) => modifiers.includes(keyCode));
      for (const keyCode of lifted) inject(keyCode, false);
      return () => {
        const held = keys.held();
        for (const keyCode of lifted) if (held.includes(keyCode)) inject(keyCode, true);
      };
    },
  });
  return {
    press: (keyCode, typing) =>
      typist.after(() => {
        const pressed = typing ? text.prepare(keyCode, typing.typed, typing.mask) : heldAs(keyCode);
        if (pressed !== keyCode) substitutes.set(keyCode, pressed);
        keys.set(pressed, true);
      }),
    release: (keyCode) =>
      typist.after(() => {
        keys.set(heldAs(keyCode), false);
        substitutes.delete(keyCode);
      }),
    hold: (keyCodes) => typist.after(() => keys.holdOnly(new Set(keyCodes.map(heldAs)))),
    type: (added) => typist.type(added),
    releaseAll() {
      typist.clear();
      keys.holdOnly(new Set());
      substitutes.clear();
    },
  };
}

function toPoint({ rootX, rootY }: PointerState): Point {
  return { x: rootX, y: rootY };
}

/**
 * Maps a position on one axis of the picture to a pixel of what it shows. `share` is the part of the picture
 * that shows it, centred; the rest is borders.
 */
function toPixel(position: number, size: number, share: number): number {
  const shown = Math.min(1, share);
  // Half a unit makes up for the rounding of the position, so that a pixel shown one to one is hit exactly.
  const inDisplay = ((position + 0.5) / pointerScale - (1 - shown) / 2) / shown;
  return Math.min(size - 1, Math.max(0, Math.floor(inDisplay * size)));
}
