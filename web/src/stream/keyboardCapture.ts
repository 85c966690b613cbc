import type { StreamInput } from "#contracts/stream.ts";

/** The fields of a keyboard event that are read. */
export type KeyPress = Pick<KeyboardEvent, "code" | "key" | "repeat" | ModifierFlag | "getModifierState">;

/** The keys that move the focus from the game to the page's controls; all other keys go to the game. */
export const menuChord = "Ctrl+Alt+M";

const maxCodeLength = 24;

type ModifierFlag = "ctrlKey" | "altKey" | "shiftKey" | "metaKey";

/** The flag of each modifier, by `key`: AltRight can be AltGraph, and players remap keys. */
const modifierFlags: ReadonlyMap<string, ModifierFlag> = new Map([
  ["Control", "ctrlKey"],
  ["Alt", "altKey"],
  ["Shift", "shiftKey"],
  ["Meta", "metaKey"],
]);

/**
 * The `key` of Japanese keys that choose a script. Windows reports their press, but only the release of the
 * former script's key.
 */
const scriptKeys: ReadonlySet<string> = new Set([
  "Alphanumeric",
  "Eisu",
  "Hankaku",
  "Hiragana",
  "HiraganaKatakana",
  "KanaMode",
  "Katakana",
  "Romaji",
  "Zenkaku",
  "ZenkakuHankaku",
]);

/** Turns key events into messages by physical key, independent of the player's keyboard layout. */
export class KeyboardCapture {
  readonly #send: (message: StreamInput) => void;
  readonly #isMac: boolean;
  readonly #isWindows: boolean;
  /** The keys that are down, by code; modifiers with the flag by which later events report them. */
  readonly #held = new Map<string, ModifierFlag | undefined>();

  constructor(send: (message: StreamInput) => void, userAgent: string) {
    this.#send = send;
    this.#isMac = userAgent.includes("Macintosh");
    this.#isWindows = userAgent.includes("Windows");
  }

  down(press: KeyPress): void {
    const { code, key, repeat } = press;
    // The game's display repeats held keys.
    if (repeat || !isSendable(code)) return;
    this.#releaseLost(press);
    if (this.#isScriptKey(key)) {
      // Alphanumeric is on the Caps Lock key, which the player did not switch on.
      if (code !== "CapsLock") this.#tap(code);
      return;
    }
    if (this.#isLock(code)) {
      this.#tap(code);
      return;
    }
    this.#held.set(code, reportedFlag(press));
    this.#send({ t: "key", c: code, d: 1 });
  }

  up(press: KeyPress): void {
    const { code, key } = press;
    if (!isSendable(code)) return;
    if (this.#isScriptKey(key) && !this.#held.has(code)) return;
    if (this.#isLock(code)) {
      this.#tap(code);
      return;
    }
    this.#release(code);
    this.#releaseLost(press);
  }

  /** Presses the held keys again after the streamer released them. */
  pressAgain(): void {
    for (const code of this.#held.keys()) this.#send({ t: "key", c: code, d: 1 });
  }

  /** Forgets the held keys after a `release` message. */
  reset(): void {
    this.#held.clear();
  }

  /**
   * Returns whether Windows does not report the release of this key. This depends on `key`, because the same
   * code is an ordinary key on other keyboards.
   */
  #isScriptKey(key: string): boolean {
    return this.#isWindows && scriptKeys.has(key);
  }

  /**
   * macOS reports Caps Lock as going down when it is switched on, and as going up when it is switched off.
   */
  #isLock(code: string): boolean {
    return this.#isMac && code === "CapsLock";
  }

  #tap(code: string): void {
    for (const d of [1, 0] as const) this.#send({ t: "key", c: code, d });
  }

  #release(code: string): void {
    this.#held.delete(code);
    this.#send({ t: "key", c: code, d: 0 });
    // While a Meta key is down, macOS does not report other keys going up.
    if (code.startsWith("Meta")) for (const held of this.#held.keys()) this.#release(held);
  }

  /**
   * Releases the modifiers that are up according to the event: systems do not report their release in system
   * shortcuts, such as those for screenshots in macOS.
   */
  #releaseLost(press: KeyPress): void {
    for (const [code, flag] of this.#held)
      if (flag !== undefined && code !== press.code && this.#isLost(flag, press)) this.#release(code);
  }

  #isLost(flag: ModifierFlag, press: KeyPress): boolean {
    if (press[flag]) return false;
    // While both Shift keys are down, Windows does not report the first of them going up. Chromium on Linux
    // does, of any two, but clears the flag as for the last.
    if (modifierFlags.get(press.key) === flag) return this.#isWindows && flag === "shiftKey";
    // Windows reports AltGraph as Control and Alt, and sets neither flag.
    return flag === "shiftKey" || flag === "metaKey" || !press.getModifierState("AltGraph");
  }
}

/**
 * Returns the flag that events have while this key is down; undefined if its press lacks the flag, such as
 * that of an AltRight that is AltGraph.
 */
function reportedFlag(press: KeyPress): ModifierFlag | undefined {
  const flag = modifierFlags.get(press.key);
  return flag !== undefined && press[flag] ? flag : undefined;
}

/**
 * Returns whether the press is the menu chord: by the code of M in most layouts, or by the key that types M
 * in others.
 */
export function isMenuChord({
  code,
  key,
  ctrlKey,
  altKey,
}: Pick<KeyboardEvent, "code" | "key" | "ctrlKey" | "altKey">): boolean {
  return ctrlKey && altKey && (code === "KeyM" || key.toLowerCase() === "m");
}

function isSendable(code: string): boolean {
  return code.length > 0 && code.length <= maxCodeLength;
}
