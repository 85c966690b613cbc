import { InputActivity } from "#contracts/inputActivity.ts";
import type { StreamInput } from "#contracts/stream.ts";

/** Signs that somebody is at the game: input on this page, input that the game got, or a confirmation. */
export class Presence {
  readonly #listeners = new Set<() => void>();
  readonly #activity = new InputActivity();

  /** Calls `listener` for every sign. Returns a function that unsubscribes. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Somebody is here. */
  note(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Notes a message to the game if the player caused it, and not a resting device. */
  noteInput(message: StreamInput): void {
    if (this.#activity.isAction(message)) this.note();
  }

  /** Notes input anywhere on the page until the returned function is called. */
  watch(page: EventTarget): () => void {
    const watching = new AbortController();
    const options = { capture: true, passive: true, signal: watching.signal };
    const note = (): void => this.note();
    for (const name of ["pointerdown", "wheel", "touchstart"]) page.addEventListener(name, note, options);
    page.addEventListener("keydown", (event) => isRepeated(event) || this.note(), options);
    // Browsers report a resting pointer when the page moves under it.
    page.addEventListener("pointermove", (event) => hasMoved(event) && this.note(), options);
    return () => watching.abort();
  }
}

/** A key that something lies on repeats for ever. */
function isRepeated(event: Event): boolean {
  return event instanceof KeyboardEvent && event.repeat;
}

function hasMoved(event: Event): boolean {
  return event instanceof PointerEvent && (event.movementX !== 0 || event.movementY !== 0);
}
