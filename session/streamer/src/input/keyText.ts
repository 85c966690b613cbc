import type { Clock } from "#runtime/scheduling/clock.ts";
import {
  isCasePair,
  otherCase,
  symbolOf,
  voidSymbol,
  type KeyboardMap,
  type KeySymbols,
} from "../display/keyboardMap.ts";
import { keyCodeOf } from "./keyCodes.ts";

// Modifier bits of the display.
const shiftMask = 1;
const lockMask = 2;
const thirdLevelMask = 128;

/**
 * A game that is busy reads what a key types some time after the key was pressed, and then gets what the key
 * types at that time. A spare key therefore keeps its character for this long.
 */
const spareMs = 1_000;

/** The keys on which layouts differ. */
const writingKeys: ReadonlySet<number | undefined> = new Set(
  [
    ...Array.from("ABCDEFGHIJKLMNOPQRSTUVWXYZ", (letter) => `Key${letter}`),
    ...Array.from("0123456789", (digit) => `Digit${digit}`),
    ..."Minus Equal BracketLeft BracketRight Semicolon Quote Backquote Backslash".split(" "),
    ..."Comma Period Slash Space IntlBackslash IntlRo IntlYen".split(" "),
  ].map(keyCodeOf),
);
const rightAlt = keyCodeOf("AltRight");

/** Makes keys type what they type on the player's keyboard. */
export interface KeyText {
  /** Returns whether `prepare` has to be called before this key is pressed. */
  isWanted(keyCode: number, typed: string): boolean;
  /**
   * Makes the key type `typed`, the `KeyboardEvent.key` of its press, while the display's modifiers are
   * `mask`. Returns the key to press: another one for a character that was composed by a dead key.
   */
  prepare(keyCode: number, typed: string, mask: number): number;
  /** Returns a key that types the character; undefined while all spare keys are in use, or if none can. */
  spareFor: (character: string) => number | undefined;
}

export interface KeyTextOptions {
  map: KeyboardMap;
  clock: Pick<Clock, "monotonicMs">;
}

/** Returns the text of the display's keys, which are those of an American keyboard at first. */
export function createKeyText({ map, clock }: KeyTextOptions): KeyText {
  const keys = new Map<number, KeyState>();
  const spares = new Map<number, { keyCode: number; usedAt: number }>(); // By symbol, the last used last.
  const unused = [...map.spareKeys];
  let isAltGraph = false;
  let isComposing = false;

  const keyOf = (keyCode: number): KeyState => {
    const symbols = map.initialSymbols(keyCode);
    const key = keys.get(keyCode) ?? {
      symbols,
      isLearned: [],
      hasCase: isCasePair(symbols[0], symbols[1]),
    };
    keys.set(keyCode, key);
    return key;
  };
  const learn = (keyCode: number, mask: number, symbol: number) => {
    const key = keyOf(keyCode);
    const wasPair = key.hasCase;
    const isLocked = (mask & lockMask) !== 0;
    // Programs would turn what the key types into a capital if its type ignored Caps Lock.
    if (isLocked) key.hasCase = true;
    const level = levelOf(key, mask);
    key.symbols[level] = symbol;
    key.isLearned[level] = true;
    const other = otherCase(symbol);
    const otherLevel = level ^ 1;
    // The same letter in the other case is probably on the same key.
    if (other && other.isUpper === (otherLevel % 2 === 1) && (wasPair || key.isLearned[otherLevel] !== true))
      key.symbols[otherLevel] = other.symbol;
    if (!isLocked) key.hasCase = isCasePair(key.symbols[0], key.symbols[1]);
    map.setSymbols(keyCode, key.symbols, key.hasCase);
  };
  /** Takes the spare key whose character was typed the longest time ago. */
  const takeOldest = (): number | undefined => {
    for (const [symbol, { keyCode, usedAt }] of spares) {
      if (clock.monotonicMs() - usedAt < spareMs) return undefined;
      spares.delete(symbol);
      return keyCode;
    }
    return undefined;
  };
  const spareForSymbol = (symbol: number): number | undefined => {
    const known = spares.get(symbol)?.keyCode;
    const keyCode = known ?? unused.pop() ?? takeOldest();
    if (keyCode === undefined) return undefined;
    if (known === undefined) map.setSymbol(keyCode, symbol);
    spares.delete(symbol);
    spares.set(symbol, { keyCode, usedAt: clock.monotonicMs() });
    return keyCode;
  };
  return {
    isWanted: (keyCode, typed) =>
      keyCode === rightAlt || (writingKeys.has(keyCode) && (typed === "Dead" || isCharacter(typed))),
    prepare(keyCode, typed, mask) {
      if (keyCode === rightAlt) {
        if (isAltGraph !== (typed === "AltGraph")) {
          isAltGraph = !isAltGraph;
          map.setRightAlt(isAltGraph);
        }
        return keyCode;
      }
      const symbol = typed === "Dead" ? voidSymbol : symbolOf(typed);
      const wasComposing = isComposing;
      isComposing = typed === "Dead";
      if (symbol === undefined || types(keyOf(keyCode), mask, symbol)) return keyCode;
      if (wasComposing && !isComposing) return spareForSymbol(symbol) ?? keyCode;
      learn(keyCode, mask, symbol);
      return keyCode;
    },
    spareFor(character) {
      const symbol = symbolOf(character);
      return symbol === undefined ? undefined : spareForSymbol(symbol);
    },
  };
}

/** What a key of the display types. */
interface KeyState {
  symbols: KeySymbols;
  /** The symbols that a press on the player's keyboard has shown. */
  isLearned: boolean[];
  /** Whether Caps Lock has the effect of Shift. */
  hasCase: boolean;
}

/** Returns which symbol of a key the display chooses. */
function levelOf({ hasCase }: KeyState, mask: number): number {
  const isShifted = (mask & shiftMask) !== 0;
  const isLocked = (mask & lockMask) !== 0 && hasCase;
  return ((mask & thirdLevelMask) === 0 ? 0 : 2) + (isShifted === isLocked ? 0 : 1);
}

/** Returns whether the key types the symbol already. */
function types(key: KeyState, mask: number, symbol: number): boolean {
  if (key.symbols[levelOf(key, mask)] !== symbol) return false;
  return key.hasCase || (mask & lockMask) === 0 || otherCase(symbol) === undefined;
}

function isCharacter(typed: string): boolean {
  return Array.from(typed).length === 1;
}
