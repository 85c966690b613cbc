import type { XConnection } from "../display/xConnection.ts";
import { pointerScale } from "#contracts/stream.ts";
import { keyCodeOf } from "./keyCodes.ts";

/** X buttons of `MouseEvent.button` 0 to 4; 4 to 7 are the wheel's. */
const buttonNumbers = [1, 2, 3, 8, 9];
const wheelUp = 4;
const wheelDown = 5;
const wheelLeft = 6;
const wheelRight = 7;

/** Keyboard and mouse of the display. */
export interface DesktopInput {
  key(code: string, isDown: boolean): void;
  movePointer(x: number, y: number): void;
  movePointerBy(x: number, y: number): void;
  button(button: number, isDown: boolean): void;
  wheel(x: number, y: number): void;
  /** Releases everything that is held. */
  releaseAll(): void;
}

/**
 * Injects input through XTEST and remembers what is held, so that a player who disconnects leaves nothing
 * pressed. While the display is behind it drops input. The player points at a picture of its own size,
 * whatever size the display has got.
 */
export function createDesktopInput(
  connection: Pick<XConnection, "xtest" | "root" | "size" | "isBehind">,
  picture: () => { width: number; height: number },
): DesktopInput {
  const { xtest, root, isBehind } = connection;
  const heldKeys = new Set<number>();
  const heldButtons = new Set<number>();
  /** Returns whether the display takes it. */
  const inject = (type: number, detail: number, x = 0, y = 0): boolean => {
    if (isBehind()) return false;
    xtest.FakeInput(type, detail, 0, root, x, y);
    return true;
  };
  /**
   * What is held is released though the display is behind, or it would stay pressed. As only what was taken
   * is held, one release of each can wait at most.
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
  const turn = (notches: number, negative: number, positive: number) => {
    const number = notches < 0 ? negative : positive;
    for (let left = Math.abs(notches); left > 0; left--) {
      pressButton(number, true);
      pressButton(number, false);
    }
  };
  return {
    key(code, isDown) {
      const keyCode = keyCodeOf(code);
      if (keyCode !== undefined) pressKey(keyCode, isDown);
    },
    movePointer(x, y) {
      const { size } = connection;
      const { width, height } = picture();
      const [across, down] = [size.width * height, size.height * width];
      inject(
        xtest.MotionNotify,
        0,
        toPixel(x, size.width, across / down),
        toPixel(y, size.height, down / across),
      );
    },
    movePointerBy(x, y) {
      inject(xtest.MotionNotify, 1, x, y);
    },
    button(button, isDown) {
      const number = buttonNumbers[button];
      if (number !== undefined) pressButton(number, isDown);
    },
    wheel(x, y) {
      turn(x, wheelLeft, wheelRight);
      turn(y, wheelUp, wheelDown);
    },
    releaseAll() {
      for (const keyCode of [...heldKeys]) pressKey(keyCode, false);
      for (const number of [...heldButtons]) pressButton(number, false);
    },
  };
}

/**
 * Returns where on one side of the display a position on the picture's is, of which the display takes this
 * share in the middle: the rest are borders.
 */
function toPixel(position: number, size: number, share: number): number {
  const shown = Math.min(1, share);
  const inDisplay = (position / pointerScale - (1 - shown) / 2) / shown;
  return Math.round(Math.min(1, Math.max(0, inDisplay)) * (size - 1));
}
