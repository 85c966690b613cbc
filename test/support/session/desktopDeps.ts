import type { KeyboardMap } from "#streamer/display/keyboardMap.ts";
import type { DesktopInputDeps } from "#streamer/input/desktopInput.ts";
import { createGamePointer } from "#streamer/input/gamePointer.ts";
import { createKeyText } from "#streamer/input/keyText.ts";

/** A keyboard map without a display. */
export const noKeyboardMap: KeyboardMap = {
  spareKeys: [],
  initialSymbols: () => [0, 0, 0, 0],
  setSymbols: () => undefined,
  setSymbol: () => undefined,
  setRightAlt: () => undefined,
};

/** Returns what desktop input needs besides a connection. Keys type nothing, and the game hides nothing. */
export function desktopDeps(
  clock: Pick<DesktopInputDeps["clock"], "setTimer"> & { monotonicMs: () => number },
): Pick<DesktopInputDeps, "pointer" | "text" | "clock"> {
  return {
    pointer: createGamePointer({ clock, isHidden: () => false }),
    text: createKeyText({ map: noKeyboardMap, clock }),
    clock,
  };
}
