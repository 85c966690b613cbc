import type { StreamInput } from "#contracts/stream.ts";

/** The fields of a keyboard event that are read. */
export type KeyPress = Pick<KeyboardEvent, "code" | "key" | "repeat" | "ctrlKey" | "altKey" | "shiftKey">;

/** The keys that move the focus from the game to the page's own controls; all other keys go to the game. */
export const menuChord = "Ctrl+Alt+M";

const maxCodeLength = 24;

/** What the keys of Japanese keyboards say that choose a script. Windows reports that they go down, and no release but that of the script before. */
const scriptKeys: ReadonlySet<string> = new Set([
  "Alphanumeric", "Eisu", "Hankaku", "Hiragana", "HiraganaKatakana", "KanaMode", "Katakana", "Romaji", "Zenkaku", "ZenkakuHankaku",
]);

/** Turns key events into messages by physical key, independent of the player's keyboard layout. */
export class KeyboardCapture {
  readonly #send: (message: StreamInput) => void;
  readonly #isMac: boolean;
  readonly #isWindows: boolean;
  readonly #held = new Set<string>();

  constructor(send: (message: StreamInput) => void, userAgent: string) {
    this.#send = send;
    this.#isMac = userAgent.includes("Macintosh");
    this.#isWindows = userAgent.includes("Windows");
  }

  down({ code, key, repeat }: KeyPress): void {
    // The game's own display repeats held keys.
    if (repeat || !isSendable(code)) return;
    if (this.#isScriptKey(key)) {
      // Alphanumeric is on the key of Caps Lock, which the player did not switch on.
      if (code !== "CapsLock") this.#tap(code);
      return;
    }
    if (this.#isLock(code)) {
      this.#tap(code);
      return;
    }
    this.#held.add(code);
    this.#send({ t: "key", c: code, d: 1 });
  }

  up({ code, key, shiftKey }: KeyPress): void {
    if (!isSendable(code)) return;
    if (this.#isScriptKey(key) && !this.#held.has(code)) return;
    if (this.#isLock(code)) {
      this.#tap(code);
      return;
    }
    this.#held.delete(code);
    this.#send({ t: "key", c: code, d: 0 });
    // While a Meta key is down, macOS does not report other keys going up.
    if (code.startsWith("Meta")) this.#releaseHeld("");
    // While both Shift keys are down, Windows does not report the first of them going up.
    if (code.startsWith("Shift") && !shiftKey) this.#releaseHeld("Shift");
  }

  /** Presses again what is held, after the streamer has released it. */
  pressAgain(): void {
    for (const code of this.#held) this.#send({ t: "key", c: code, d: 1 });
  }

  /** Forgets the held keys, after a `release` message. */
  reset(): void {
    this.#held.clear();
  }

  /** Returns whether Windows keeps its release to itself: by what the key says, as it is an ordinary one on other keyboards. */
  #isScriptKey(key: string): boolean {
    return this.#isWindows && scriptKeys.has(key);
  }

  /** macOS reports Caps Lock as going down when it is switched on, and as going up when it is switched off. */
  #isLock(code: string): boolean {
    return this.#isMac && code === "CapsLock";
  }

  #tap(code: string): void {
    for (const d of [1, 0] as const) this.#send({ t: "key", c: code, d });
  }

  #releaseHeld(prefix: string): void {
    for (const code of [...this.#held].filter((held) => held.startsWith(prefix))) {
      this.#held.delete(code);
      this.#send({ t: "key", c: code, d: 0 });
    }
  }
}

/** Returns whether the press is the menu chord: by the key where M is in most layouts, and by the one that says M in those where it is elsewhere. */
export function isMenuChord({ code, key, ctrlKey, altKey }: Pick<KeyboardEvent, "code" | "key" | "ctrlKey" | "altKey">): boolean {
  return ctrlKey && altKey && (code === "KeyM" || key.toLowerCase() === "m");
}

function isSendable(code: string): boolean {
  return code.length > 0 && code.length <= maxCodeLength;
}
