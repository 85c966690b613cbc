import type { PointerState } from "x11";
import type { XConnection } from "../display/xConnection.ts";
import { pointerScale } from "#contracts/stream.ts";
import type { GamePointer, Point } from "./gamePointer.ts";
import { createInputOrder } from "./inputOrder.ts";
import { keyCodeOf } from "./keyCodes.ts";

/** X buttons for `MouseEvent.button` 0 to 4. X buttons 4 to 7 belong to the wheel. */
const buttonNumbers = [1, 2, 3, 8, 9];
/** Bits of `MouseEvent.buttons` in the order of `MouseEvent.button`. */
const buttonBits = [1, 4, 2, 8, 16];
const wheelUp = 4;
const wheelDown = 5;
const wheelLeft = 6;
const wheelRight = 7;

/** Keyboard and mouse of the display. */
export interface DesktopInput {
  key(code: string, isDown: boolean): void;
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

/**
 * Injects input through XTEST and tracks what is held, so that a player who disconnects leaves nothing
 * pressed. Drops input while the display is behind. Positions refer to the picture, which may differ in size
 * from the display and show only a part of it.
 */
export function createDesktopInput(
  connection: Pick<XConnection, "xtest" | "xkb" | "root" | "size" | "isBehind"> &
    Partial<Pick<XConnection, "view">> & { client: Pick<XConnection["client"], "QueryPointer"> },
  picture: () => { width: number; height: number },
  pointer: GamePointer,
): DesktopInput {
  const { client, xtest, xkb, root, isBehind } = connection;
  const order = createInputOrder();
  const heldKeys = new Set<number>();
  const heldButtons = new Set<number>();
  /** Returns whether the display accepts the input. */
  const inject = (type: number, detail: number, x = 0, y = 0): boolean => {
    if (isBehind()) return false;
    xtest.FakeInput(type, detail, 0, root, x, y);
    return true;
  };
  /**
   * Releases held keys and buttons even while the display is behind; otherwise they would stay pressed. Since
   * only accepted presses are held, at most one release of each can queue.
   */
  const release = (held: Set<number>, type: number, number: number) => {
    if (held.delete(number)) xtest.FakeInput(type, number, 0, root, 0, 0);
    else inject(type, number);
  };
  const pressKey = (keyCode: number, isDown: boolean) => {
    if (!isDown) release(heldKeys, xtest.KeyRelease, keyCode);
    else if (inject(xtest.KeyPress, keyCode)) heldKeys.add(keyCode);
  };
  const pressButton = (number: number, isDown: boolean) => {
    if (!isDown) release(heldButtons, xtest.ButtonRelease, number);
    else if (inject(xtest.ButtonPress, number)) heldButtons.add(number);
  };
  const turnWheel = (notches: number, negative: number, positive: number) => {
    const number = notches < 0 ? negative : positive;
    for (let left = Math.abs(notches); left > 0; left--) {
      pressButton(number, true);
      pressButton(number, false);
    }
  };
  const holdOnly = (
    held: Set<number>,
    wanted: ReadonlySet<number>,
    press: (number: number, isDown: boolean) => void,
  ) => {
    for (const number of [...held]) if (!wanted.has(number)) press(number, false);
    for (const number of wanted) if (!held.has(number)) press(number, true);
  };
  const readPointer = (then: (position: Point) => void) =>
    client.QueryPointer(root, (error, state) => {
      if (!error) then(toPoint(state));
    });
  /** The server has moved the pointer when it reads the second request. */
  const moveBy = ({ x, y }: Point) => {
    if (inject(xtest.MotionNotify, 1, x, y)) readPointer((left) => pointer.leaveAt(left));
  };
  const toPixels = ({ x, y }: Point): Point => {
    const view = connection.view ?? { x: 0, y: 0, ...connection.size };
    const { width, height } = picture();
    const [across, down] = [view.width * height, view.height * width];
    return {
      x: view.x + toPixel(x, view.width, across / down),
      y: view.y + toPixel(y, view.height, down / across),
    };
  };
  return {
    key(code, isDown) {
      const keyCode = keyCodeOf(code);
      if (keyCode !== undefined) order.run(() => pressKey(keyCode, isDown));
    },
    movePointer(x, y, isEntry) {
      order.move({ x, y, isEntry }, (target, done) => {
        if (isBehind()) {
          done();
          return;
        }
        client.QueryPointer(root, (error, state) => {
          if (!error)
            moveBy(pointer.distanceTo(toPixels(target), target.isEntry, toPoint(state), connection.size));
          done();
        });
      });
    },
    movePointerBy(x, y) {
      order.run(() => {
        if (isBehind()) return;
        readPointer((position) => pointer.moveBy(position));
        moveBy({ x, y });
      });
    },
    button(button, isDown) {
      const number = buttonNumbers[button];
      if (number !== undefined) order.run(() => pressButton(number, isDown));
    },
    wheel(x, y) {
      order.run(() => {
        turnWheel(x, wheelLeft, wheelRight);
        turnWheel(y, wheelUp, wheelDown);
      });
    },
    hold(codes, buttons) {
      const keyCodes = codes.map(keyCodeOf).filter((keyCode) => keyCode !== undefined);
      const wanted = buttonNumbers.filter((_number, button) => (buttons & (buttonBits[button] ?? 0)) !== 0);
      order.run(() => {
        holdOnly(heldKeys, new Set(keyCodes), pressKey);
        holdOnly(heldButtons, new Set(wanted), pressButton);
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
        for (const keyCode of [...heldKeys]) pressKey(keyCode, false);
        for (const number of [...heldButtons]) pressButton(number, false);
      });
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
