import type { StreamInput } from "#contracts/stream.ts";

/** What a key event needs to say. */
export type KeyPress = Pick<KeyboardEvent, "code" | "repeat" | "ctrlKey" | "altKey">;

/** The keys that lead from the game to the page's own controls; everything else belongs to the game. */
export const menuChord = "Ctrl+Alt+M";

const maxCodeLength = 24;

/** Turns key events into messages by physical key, so that the player's layout plays no part. */
export class KeyboardCapture {
  readonly #send: (message: StreamInput) => void;
  readonly #held = new Set<string>();

  constructor(send: (message: StreamInput) => void) {
    this.#send = send;
  }

  down({ code, repeat }: KeyPress): void {
    // The game's own display repeats held keys.
    if (repeat || !isSendable(code)) return;
    this.#held.add(code);
    this.#send({ t: "key", c: code, d: 1 });
  }

  up({ code }: KeyPress): void {
    if (!isSendable(code)) return;
    this.#held.delete(code);
    this.#send({ t: "key", c: code, d: 0 });
    // While a Meta key is down, macOS does not report other keys going up.
    if (code.startsWith("Meta")) this.#releaseHeld();
  }

  /** Forgets what is held, after the streamer was told to release everything. */
  reset(): void {
    this.#held.clear();
  }

  #releaseHeld(): void {
    for (const code of this.#held) this.#send({ t: "key", c: code, d: 0 });
    this.#held.clear();
  }
}

/** Whether these keys ask for the page's controls. */
export function isMenuChord({ code, ctrlKey, altKey }: KeyPress): boolean {
  return code === "KeyM" && ctrlKey && altKey;
}

function isSendable(code: string): boolean {
  return code.length > 0 && code.length <= maxCodeLength;
}
