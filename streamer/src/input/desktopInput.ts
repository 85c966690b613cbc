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

/** Injects input through XTEST and remembers what is held, so that a player who disconnects leaves nothing pressed. */
export function createDesktopInput({ xtest, root }: Pick<XConnection, "xtest" | "root">, width: number, height: number): DesktopInput {
  const heldKeys = new Set<number>();
  const heldButtons = new Set<number>();
  const pressKey = (keyCode: number, isDown: boolean) => {
    setHeld(heldKeys, keyCode, isDown);
    xtest.FakeInput(isDown ? xtest.KeyPress : xtest.KeyRelease, keyCode, 0, root, 0, 0);
  };
  const pressButton = (number: number, isDown: boolean) => {
    setHeld(heldButtons, number, isDown);
    xtest.FakeInput(isDown ? xtest.ButtonPress : xtest.ButtonRelease, number, 0, root, 0, 0);
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
      const toPixel = (position: number, size: number) => Math.round(position * (size - 1) / pointerScale);
      xtest.FakeInput(xtest.MotionNotify, 0, 0, root, toPixel(x, width), toPixel(y, height));
    },
    movePointerBy(x, y) {
      xtest.FakeInput(xtest.MotionNotify, 1, 0, root, x, y);
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

function setHeld(held: Set<number>, number: number, isDown: boolean): void {
  if (isDown) held.add(number);
  else held.delete(number);
}
