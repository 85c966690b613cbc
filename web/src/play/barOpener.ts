import type { Area } from "../stream/pictureArea.ts";

/** How long the pointer rests on the handle before the bar opens. A click opens it at once. */
const handleDwellMs = 250;
/** The same for the edge, where the pointer of a player also rests: to scroll a map, or to click a menu. */
const edgeDwellMs = 1_000;
/** The controls take no clicks for this long after the bar has opened: they are meant for what was there. */
const settleMs = 300;
/** How long the pointer is away before the bar closes. */
const closeAfterMs = 400;
/** The rows of pixels that are the very edge. */
const edgeRows = 2;
/** The pointer may stray this far from the bar. */
const strayPx = 12;

/** Calls back after some milliseconds, unless the returned function is called before. */
type Delay = (ms: number, callback: () => void) => () => void;

/** The fields of a pointer event that are read. */
export type PointerAt = Pick<PointerEvent, "clientX" | "clientY" | "buttons" | "pointerType">;

/** The current areas of the bar and of its handle on the page. */
export interface BarAreas {
  bar: Area;
  handle: Area;
}

/**
 * State of the bar. While it opens, its controls take no clicks: those at the edge go to the game, and those
 * at the handle have opened the bar.
 */
export type BarState = "closed" | "openingAtEdge" | "openingAtHandle" | "open";

/**
 * Opens the bar of controls when the pointer rests on its handle or at the very edge, and closes it when the
 * pointer has left. A press at the edge is the game's: the bar then waits until the pointer has been
 * elsewhere.
 */
export class BarOpener {
  readonly #onChange: (state: BarState) => void;
  readonly #areas: () => BarAreas | undefined;
  readonly #delay: Delay;
  #state: BarState = "closed";
  #zone: "handle" | "edge" | undefined;
  #cancel: (() => void) | undefined;
  #isLeaving = false;

  constructor(onChange: (state: BarState) => void, areas: () => BarAreas | undefined, delay: Delay) {
    this.#onChange = onChange;
    this.#areas = areas;
    this.#delay = delay;
  }

  /** Reads a movement of the pointer anywhere on the page. Fingers do not rest: they tap the handle. */
  move(at: PointerAt): void {
    const areas = this.#areas();
    if (areas === undefined || at.pointerType === "touch") return;
    if (this.#state === "closed") this.#approach(at, areas);
    else if (this.#state === "open") this.#follow(isInside(at, areas.bar, strayPx));
  }

  /** Reads a press anywhere on the page. */
  press(at: PointerAt): void {
    const areas = this.#areas();
    if (areas === undefined) return;
    if (this.#state === "closed") this.#stop();
    else if (at.pointerType === "touch" && !isInside(at, areas.bar, strayPx)) this.close();
  }

  /** The pointer has left the page. */
  leave(): void {
    if (this.#state === "open") this.#follow(false);
    else if (this.#state === "closed") {
      this.#stop();
      this.#zone = undefined;
    }
  }

  /** Opens a closed bar, and closes an open one. */
  toggle(): void {
    if (this.#state === "closed") this.#open("handle");
    else if (this.#state === "open") this.close();
  }

  close(): void {
    this.#stop();
    this.#set("closed");
  }

  #approach(at: PointerAt, { bar, handle }: BarAreas): void {
    const zone = zoneAt(at, bar, handle);
    if (at.buttons !== 0) this.#stop();
    if (zone === this.#zone) return;
    this.#zone = zone;
    this.#stop();
    if (zone === undefined || at.buttons !== 0) return;
    this.#wait(zone === "handle" ? handleDwellMs : edgeDwellMs, () => this.#open(zone));
  }

  #follow(isInBar: boolean): void {
    if (isInBar) this.#stop();
    else if (!this.#isLeaving) {
      this.#isLeaving = true;
      this.#wait(closeAfterMs, () => this.close());
    }
  }

  #open(zone: "handle" | "edge"): void {
    this.#zone = undefined;
    this.#set(zone === "handle" ? "openingAtHandle" : "openingAtEdge");
    this.#wait(settleMs, () => this.#set("open"));
  }

  #wait(ms: number, callback: () => void): void {
    this.#cancel?.();
    this.#cancel = this.#delay(ms, callback);
  }

  #stop(): void {
    this.#isLeaving = false;
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #set(state: BarState): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#onChange(state);
  }
}

function zoneAt(at: PointerAt, bar: Area, handle: Area): "handle" | "edge" | undefined {
  if (isInside(at, handle, 0)) return "handle";
  const isBelowBar = at.clientX >= bar.left && at.clientX < bar.left + bar.width;
  return isBelowBar && at.clientY < edgeRows ? "edge" : undefined;
}

function isInside(
  { clientX, clientY }: PointerAt,
  { left, top, width, height }: Area,
  stray: number,
): boolean {
  return (
    clientX >= left - stray &&
    clientX < left + width + stray &&
    clientY >= top - stray &&
    clientY < top + height + stray
  );
}
