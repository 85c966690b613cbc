import type { StreamInput } from "#contracts/stream.ts";
import {
  modifierFlag,
  readLocks,
  reportedFlag,
  unseenModifiers,
  type Locks,
  type ModifierFlag,
  type ModifierState,
} from "./modifiers.ts";

/** The fields of a keyboard event that are read. */
export type KeyPress = Pick<KeyboardEvent, "code" | "key" | "repeat"> &
  ModifierState & { readonly timeStamp?: number };

/** The keys that move the focus from the game to the page's controls; all other keys go to the game. */
export const menuChord = "Ctrl+Alt+M";

const maxCodeLength = 24;
/** Windows adds events that no key made to some presses. They follow each other within this time. */
const madeUpMs = 20;

/** Firefox's former names of keys. */
const aliases: ReadonlyMap<string, string> = new Map([
  ["OSLeft", "MetaLeft"],
  ["OSRight", "MetaRight"],
]);

/**
 * The `key` of Japanese and Korean keys that choose a script. Windows reports their press, but no release, or
 * only that of the former script's key.
 */
const scriptKeys: ReadonlySet<string> = new Set([
  "Alphanumeric",
  "Eisu",
  "HangulMode",
  "Hankaku",
  "HanjaMode",
  "Hiragana",
  "HiraganaKatakana",
  "JunjaMode",
  "KanaMode",
  "Katakana",
  "Romaji",
  "Zenkaku",
  "ZenkakuHankaku",
]);
const lockKeys: ReadonlySet<string> = new Set(["CapsLock", "NumLock", "ScrollLock"]);

/** Calls back after some milliseconds, unless the returned function is called before. */
export type Delay = (ms: number, callback: () => void) => () => void;

/** An event that is held back until it is known whether a key made it. */
interface Doubtful {
  code: string;
  isDown: boolean;
  timeStamp: number;
  cancel: () => void;
}

/** Turns key events into messages by physical key, independent of the player's keyboard layout. */
export class KeyboardCapture {
  readonly #send: (message: StreamInput) => void;
  readonly #delay: Delay;
  readonly #isApple: boolean;
  readonly #isWindows: boolean;
  /** The keys that are down, by code; modifiers with the flag by which later events report them. */
  readonly #held = new Map<string, ModifierFlag | undefined>();
  /** The keys that were pressed while the page had the focus, and belong to it until they go up. */
  readonly #ofPage = new Set<string>();
  /** The key that the player used last for a modifier. */
  readonly #sides = new Map<ModifierFlag, string>();
  #isSuspended = false;
  #doubtful: Doubtful | undefined;
  /** Windows reports Shift as up while a key of the keypad types the opposite of Num Lock. */
  #isShiftHidden = false;
  /** What the display was told last. Both locks are off when a session starts. */
  #locks: Locks | undefined = { caps: 0, num: 0 };

  constructor(send: (message: StreamInput) => void, userAgent: string, delay: Delay = delayByTimer) {
    this.#send = send;
    this.#delay = delay;
    this.#isApple = /Macintosh|iPhone|iPad/.test(userAgent);
    this.#isWindows = userAgent.includes("Windows");
  }

  down(press: KeyPress): void {
    const { key, repeat } = press;
    const code = canonicalCode(press.code);
    if (!isSendable(code)) return;
    this.#settle(press, code);
    // The game's display repeats held keys. The repetition of an unknown one is its press: it went to another
    // window, or to the page before the focus came back.
    if (repeat && (this.#held.has(code) || this.#ofPage.has(code) || lockKeys.has(code))) return;
    this.#ofPage.delete(code);
    if (this.#isWindows && code === "ControlLeft" && !this.#held.has(code)) {
      this.#holdBack(code, true, press);
      return;
    }
    this.#releaseLost(press);
    if (this.#isScriptKey(key)) {
      // Alphanumeric is on the Caps Lock key, which the player did not switch on.
      if (code !== "CapsLock") this.#tap(code);
      return;
    }
    if (!lockKeys.has(code)) this.#syncState(press, code);
    if (this.#isLock(code) || this.#isReleaseHidden(press)) this.#tap(code);
    else this.#press(code, press);
    if (lockKeys.has(code)) this.#locks = undefined;
  }

  up(press: KeyPress): void {
    const code = canonicalCode(press.code);
    this.#ofPage.delete(code);
    if (!isSendable(code)) return;
    this.#settle(press, code);
    if (this.#isLock(code)) {
      this.#tap(code);
      this.#locks = undefined;
      return;
    }
    // Windows reports only the release of this key.
    if (code === "PrintScreen" && !this.#held.has(code)) this.#tap(code);
    if (!this.#held.has(code)) return;
    if (this.#isWindows && code.startsWith("Shift") && press.getModifierState("NumLock")) {
      this.#holdBack(code, false, press);
      return;
    }
    this.#release(code);
    this.#releaseLost(press);
    if (isKeypadDigit(code)) this.#isShiftHidden = false;
  }

  /** Notes that the page got this press, whose repetitions do not reach the game. */
  downOnPage({ code }: Pick<KeyPress, "code">): void {
    this.#ofPage.add(canonicalCode(code));
  }

  /**
   * Compares the modifiers with those of a pointer event. With `isForGame` it also presses the missing ones
   * and sets the locks.
   */
  compare(state: ModifierState, isForGame: boolean): void {
    this.#releaseLost({ ...pickFlags(state), code: "", key: "" });
    if (isForGame && !this.#isSuspended) this.#syncState(state, "");
  }

  /** Returns whether a key that is this modifier is held. */
  isHeld(flag: ModifierFlag): boolean {
    return [...this.#held.values()].includes(flag);
  }

  /** Returns the codes of the keys that the game has as held. */
  heldCodes(): string[] {
    return this.#isSuspended ? [] : [...this.#held.keys()];
  }

  /** Presses the held keys again after the streamer released them. The display's locks are unknown then. */
  pressAgain(): void {
    this.#locks = undefined;
    for (const code of this.heldCodes()) this.#send({ t: "key", c: code, d: 1 });
  }

  /** Remembers, after a `release` message, which keys the player holds while the page has the focus. */
  suspend(): void {
    this.#dropDoubtful();
    this.#isSuspended = true;
  }

  /** Presses the keys again that are still held when the focus is back in the game. */
  resume(): void {
    if (!this.#isSuspended) return;
    this.#isSuspended = false;
    this.pressAgain();
  }

  /** Forgets the held keys after a `release` message. */
  reset(): void {
    this.#dropDoubtful();
    this.#isSuspended = false;
    this.#isShiftHidden = false;
    this.#held.clear();
    this.#ofPage.clear();
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
    return this.#isApple && code === "CapsLock";
  }

  /** macOS does not report the release of keys that are pressed while a Meta key is down. */
  #isReleaseHidden({ key, metaKey }: KeyPress): boolean {
    return this.#isApple && metaKey && modifierFlag(key) === undefined;
  }

  #tap(code: string): void {
    if (this.#isSuspended) return;
    for (const d of [1, 0] as const) this.#send({ t: "key", c: code, d });
  }

  #press(code: string, press: ModifierState & { readonly key: string }): void {
    const flag = reportedFlag(press);
    if (flag !== undefined) this.#sides.set(flag, code);
    this.#hold(code, flag, typedBy(code, press.key));
  }

  #hold(code: string, flag: ModifierFlag | undefined, typed: { k?: string } = {}): void {
    // Windows presses Shift again after a key of the keypad.
    const isKnown = flag !== undefined && this.#held.has(code);
    this.#held.set(code, flag);
    if (!this.#isSuspended && !isKnown) this.#send({ t: "key", c: code, d: 1, ...typed });
  }

  #release(code: string): void {
    if (!this.#held.delete(code)) return;
    if (!this.#isSuspended) this.#send({ t: "key", c: code, d: 0 });
    // While a Meta key is down, macOS reports no other keys going up, and Windows not those of its shortcuts.
    if (code.startsWith("Meta") && (this.#isApple || this.#isWindows))
      for (const held of this.#held.keys()) this.#release(held);
  }

  /**
   * Holds an event of Windows back that may be made up: Control is pressed before AltGraph, and Shift is
   * released before a key of the keypad that types the opposite of Num Lock.
   */
  #holdBack(code: string, isDown: boolean, press: KeyPress): void {
    const cancel = this.#delay(madeUpMs, () => this.#apply(press));
    this.#doubtful = { code, isDown, timeStamp: press.timeStamp ?? -Infinity, cancel };
  }

  /** Decides about the event that was held back, now that the next one is known. */
  #settle(press: KeyPress, code: string): void {
    const doubtful = this.#doubtful;
    if (doubtful === undefined) return;
    this.#dropDoubtful();
    const isMadeUp = (press.timeStamp ?? 0) - doubtful.timeStamp <= madeUpMs;
    if (isMadeUp && doubtful.isDown && code === "AltRight" && press.key === "AltGraph") return;
    if (isMadeUp && !doubtful.isDown && isKeypadDigit(code) && press.key.length > 1) {
      this.#isShiftHidden = true;
      return;
    }
    this.#applyDoubtful(doubtful, press);
  }

  #apply(press: KeyPress): void {
    const doubtful = this.#doubtful;
    this.#doubtful = undefined;
    if (doubtful !== undefined) this.#applyDoubtful(doubtful, press);
  }

  #applyDoubtful({ code, isDown }: Doubtful, press: ModifierState): void {
    if (isDown) this.#press(code, { ...pickFlags(press), ctrlKey: true, key: "Control" });
    else {
      this.#release(code);
      this.#releaseLost({ ...pickFlags(press), code, key: "Shift" });
    }
  }

  #dropDoubtful(): void {
    this.#doubtful?.cancel();
    this.#doubtful = undefined;
  }

  /** Presses modifiers whose press was not seen, and sets the locks of the display. */
  #syncState(state: ModifierState & { readonly key?: string }, code: string): void {
    if (this.#doubtful === undefined && modifierFlag(state.key ?? "") === undefined)
      for (const [flag, key] of unseenModifiers(state, this.#held, this.#sides)) this.#hold(key, flag);
    const locks = readLocks(state, this.#isApple && isKeypadDigit(code));
    const known = this.#locks;
    // Only a keypad shows whether Num Lock matters on a keyboard that has none.
    if (this.#isApple && known !== undefined && !isKeypadDigit(code)) locks.num = known.num;
    if (locks.caps === known?.caps && locks.num === known.num) return;
    this.#locks = locks;
    if (!this.#isSuspended) this.#send({ t: "locks", ...locks });
  }

  /**
   * Releases the modifiers that are up according to the event: systems do not report their release in system
   * shortcuts, such as those for screenshots in macOS.
   */
  #releaseLost(press: Omit<KeyPress, "repeat">): void {
    if (press.shiftKey) this.#isShiftHidden = false;
    for (const [code, flag] of this.#held)
      if (flag !== undefined && code !== press.code && this.#isLost(flag, press)) this.#release(code);
  }

  #isLost(flag: ModifierFlag, press: Omit<KeyPress, "repeat">): boolean {
    if (press[flag] || (flag === "shiftKey" && this.#isShiftHidden)) return false;
    // While both Shift keys are down, Windows does not report the first of them going up. Chromium on Linux
    // does, of any two, but clears the flag as for the last.
    if (modifierFlag(press.key) === flag) return this.#isWindows && flag === "shiftKey";
    // Windows reports AltGraph as Control and Alt, and sets neither flag.
    return flag === "shiftKey" || flag === "metaKey" || !press.getModifierState("AltGraph");
  }
}

/**
 * Returns what tells the game the text of a press: a character, a dead key, or whether the right Alt key is
 * AltGr. The streamer knows what the other keys are.
 */
function typedBy(code: string, key: string): { k?: string } {
  return code === "AltRight" || key === "Dead" || isCharacter(key) ? { k: key } : {};
}

/** Returns whether the key is one that types a character, which is its `key`. */
export function isCharacter(key: string): boolean {
  return Array.from(key).length === 1;
}

function delayByTimer(ms: number, callback: () => void): () => void {
  const timer = setTimeout(callback, ms);
  return () => clearTimeout(timer);
}

/** Copies the modifiers out of an event, whose fields belong to its class. */
function pickFlags(state: ModifierState): ModifierState {
  const { ctrlKey, altKey, shiftKey, metaKey } = state;
  return { ctrlKey, altKey, shiftKey, metaKey, getModifierState: (name) => state.getModifierState(name) };
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

function canonicalCode(code: string): string {
  return aliases.get(code) ?? code;
}

function isKeypadDigit(code: string): boolean {
  return /^Numpad(\d|Decimal)$/.test(code);
}

function isSendable(code: string): boolean {
  return code.length > 0 && code.length <= maxCodeLength;
}
