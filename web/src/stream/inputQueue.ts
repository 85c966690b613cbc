import type { StreamInput } from "#contracts/stream.ts";

const maxDistance = 4_096;
const maxNotches = 16;

/**
 * Queues input for a congested data channel. Motion is merged into the previous message if nothing is lost.
 * The length is bounded: motion is dropped first, and if only keys and buttons are left, a release of
 * everything replaces them, because late presses are worse than none.
 */
export class InputQueue {
  readonly #capacity: number;
  #messages: StreamInput[] = [];

  constructor(capacity = 128) {
    this.#capacity = capacity;
  }

  get length(): number {
    return this.#messages.length;
  }

  push(message: StreamInput): void {
    const place = this.#placeBefore(message);
    const last = this.#messages[place];
    const merged = last === undefined ? undefined : merge(last, message);
    if (merged !== undefined) {
      this.#messages[place] = merged;
      return;
    }
    this.#messages.push(message);
    if (this.#messages.length > this.#capacity) this.#shrink();
  }

  /** Removes the oldest message and returns it. */
  shift(): StreamInput | undefined {
    return this.#messages.shift();
  }

  clear(): void {
    this.#messages = [];
  }

  /** Returns the place of the last message, not counting states of other gamepads after one of this. */
  #placeBefore(message: StreamInput): number {
    let place = this.#messages.length - 1;
    while (isOtherPad(this.#messages[place], message)) place -= 1;
    return place;
  }

  #shrink(): void {
    const withoutMotion = this.#messages.filter((message) => !isMotion(message));
    this.#messages = withoutMotion.length < this.#messages.length ? withoutMotion : [{ t: "release" }];
  }
}

function isOtherPad(queued: StreamInput | undefined, message: StreamInput): boolean {
  return message.t === "pad" && queued?.t === "pad" && (queued.i ?? 0) !== (message.i ?? 0);
}

function isMotion({ t }: StreamInput): boolean {
  return t === "move" || t === "rel" || t === "wheel" || t === "ping";
}

/** Returns one message that does the same as two in a row, if there is one. */
function merge(first: StreamInput, second: StreamInput): StreamInput | undefined {
  if (first.t === "move" && second.t === "move") return first.e === 1 ? { ...second, e: 1 } : second;
  if (first.t === "rel" && second.t === "rel") return { t: "rel", ...sum(first, second, maxDistance) };
  if (first.t === "wheel" && second.t === "wheel") return { t: "wheel", ...sum(first, second, maxNotches) };
  // Messages with different buttons are not merged: a button tapped between the two would be lost.
  if (first.t === "pad" && second.t === "pad" && first.b === second.b) return second;
  if ((first.t === "release" || first.t === "held" || first.t === "locks") && second.t === first.t)
    return second;
  return undefined;
}

function sum(
  first: { x: number; y: number },
  second: { x: number; y: number },
  limit: number,
): { x: number; y: number } {
  return { x: clamp(first.x + second.x, limit), y: clamp(first.y + second.y, limit) };
}

function clamp(value: number, limit: number): number {
  return Math.min(limit, Math.max(-limit, value));
}
