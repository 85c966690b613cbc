import type { Clock, Timer } from "#runtime/scheduling/clock.ts";
import { type XConnection, promised } from "./xConnection.ts";
import type { XFixes } from "x11";

const displayCursorMask = 1;
/** Shortest time between two looks at the pointer. Games may animate it. */
const everyMs = 100;

/** Whether the game hides its pointer. */
export interface CursorWatch {
  isHidden(): boolean;
  /** Calls the listener after every change. */
  onChange(listener: (isHidden: boolean) => void): void;
}

interface CursorWatchOptions {
  connection: Pick<XConnection, "client" | "root">;
  clock: Pick<Clock, "setTimer">;
}

/** Watches the pointer's picture: a game hides its pointer with one that has only transparent pixels. */
export async function watchCursor({ connection, clock }: CursorWatchOptions): Promise<CursorWatch> {
  const { client, root } = connection;
  const fixes = await promised<XFixes>((done) => client.require("fixes", done));
  const listeners: ((isHidden: boolean) => void)[] = [];
  let isHidden = false;
  let isStale = false;
  let pause: Timer | undefined;

  const look = () => {
    isStale = false;
    pause = clock.setTimer(everyMs, () => {
      pause = undefined;
      if (isStale) look();
    });
    fixes.GetCursorImage((error, image) => {
      const wasHidden = isHidden;
      isHidden = !error && isTransparent(image.cursorImage);
      if (wasHidden !== isHidden) for (const listener of listeners) listener(isHidden);
    });
  };
  client.on("event", ({ name }) => {
    if (name !== "CursorNotify") return;
    if (pause) isStale = true;
    else look();
  });
  fixes.SelectCursorInput(root, displayCursorMask);
  look();
  return { isHidden: () => isHidden, onChange: (listener) => void listeners.push(listener) };
}

/** Returns whether no pixel can be seen. */
function isTransparent(pixels: Buffer): boolean {
  for (let alpha = 3; alpha < pixels.length; alpha += 4) if (pixels[alpha] !== 0) return false;
  return true;
}
