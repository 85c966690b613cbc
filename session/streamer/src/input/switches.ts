import type { XConnection } from "../display/xConnection.ts";

/** Keys or buttons of the display, and which of them are held. */
export interface Switches {
  set(number: number, isDown: boolean): void;
  /** Releases the others that are held, and presses those that are not. */
  holdOnly(wanted: ReadonlySet<number>): void;
  held(): number[];
}

/**
 * Returns the switches that XTEST presses and releases with these event types. Drops presses while the
 * display is behind. Releases held ones even then; otherwise they would stay pressed. Since only accepted
 * presses are held, at most one release of each can queue.
 */
export function createSwitches(
  { xtest, root, isBehind }: Pick<XConnection, "xtest" | "root" | "isBehind">,
  types: { press: number; release: number },
): Switches {
  const held = new Set<number>();
  const set = (number: number, isDown: boolean) => {
    const isHeld = !isDown && held.delete(number);
    if (!isHeld && isBehind()) return;
    xtest.FakeInput(isDown ? types.press : types.release, number, 0, root, 0, 0);
    if (isDown) held.add(number);
  };
  return {
    set,
    holdOnly(wanted) {
      for (const number of [...held]) if (!wanted.has(number)) set(number, false);
      for (const number of wanted) if (!held.has(number)) set(number, true);
    },
    held: () => [...held],
  };
}
