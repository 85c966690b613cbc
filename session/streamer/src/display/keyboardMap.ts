import type { XConnection } from "./xConnection.ts";
import { promised } from "./xConnection.ts";

/** The symbols of a key: plain, with Shift, with AltGr, with both. Zero where it has none. */
export type KeySymbols = [plain: number, shifted: number, third: number, fourth: number];

/** Key codes of the right Alt key and of a pair of modifiers that no real keyboard has. */
const rightAlt = 108;
const altModifier = 3;
const firstKeyCode = 8;
const lastKeyCode = 255;
/** Keys from this code on start programs and the like. No browser reports them, so they can type text. */
const firstMediaKey = 208;

// Symbols and requests of the X keyboard extension.
const altRight = 0xffea;
const metaRight = 0xffe8;
const levelThreeShift = 0xfe03;
const setMapRequest = 9;
const keySymbolsPart = 2;
const recomputeActions = 2;
const setMapBytes = 36;

/** The keyboard map of the display. */
export interface KeyboardMap {
  /** Keys that have no place on a keyboard, for characters that no key types. */
  spareKeys: readonly number[];
  /** Returns what a key types on the keyboard with which the display started. */
  initialSymbols(keyCode: number): KeySymbols;
  /** Changes what a key types. With `hasCase`, Caps Lock has the effect of Shift, and none otherwise. */
  setSymbols(keyCode: number, symbols: Readonly<KeySymbols>, hasCase: boolean): void;
  /** Makes a key type the symbol whether Shift or Caps Lock are on or not. */
  setSymbol(keyCode: number, symbol: number): void;
  /** Makes the right Alt key AltGr, or Alt again. */
  setRightAlt(isAltGraph: boolean): void;
}

/** Reads the map of the display. */
export async function readKeyboardMap({
  client,
  xkb,
}: Pick<XConnection, "client" | "xkb">): Promise<KeyboardMap> {
  const rows = await promised<number[][]>((done) =>
    client.GetKeyboardMapping(firstKeyCode, lastKeyCode - firstKeyCode + 1, done),
  );
  const modifiers = await promised<number[][]>((done) => client.GetModifierMapping(done));
  const type = await readTypes({ client, xkb });

  const change = (keyCode: number, keyType: number, symbols: readonly number[]) => {
    const request = buildSetMap(xkb.majorOpcode, xkb.UseCoreKbd, keyCode, keyType, symbols);
    client.seq_num++;
    client.pack_stream.put(request);
    client.pack_stream.submit();
  };
  const modifierKeys = new Set(modifiers.flat());
  return {
    spareKeys: rows
      .map((symbols, index) => ({ keyCode: index + firstKeyCode, symbols }))
      .filter(({ keyCode, symbols }) => keyCode >= firstMediaKey || symbols.every((symbol) => symbol === 0))
      .map(({ keyCode }) => keyCode)
      .filter((keyCode) => keyCode > firstKeyCode && !modifierKeys.has(keyCode)),
    initialSymbols(keyCode) {
      const [plain = 0, shifted = 0] = rows[keyCode - firstKeyCode] ?? [];
      return [plain, shifted, 0, 0];
    },
    setSymbols(keyCode, symbols, hasCase) {
      const [plain, shifted, third, fourth] = symbols;
      if (third === 0 && fourth === 0)
        change(keyCode, hasCase ? type.alphabetic : type.twoLevel, [plain, shifted]);
      else change(keyCode, hasCase ? type.fourLevelAlphabetic : type.fourLevel, symbols);
    },
    setSymbol: (keyCode, symbol) => change(keyCode, type.alphabetic, [symbol, symbol]),
    setRightAlt(isAltGraph) {
      const wanted = modifiers.map((keys, modifier) =>
        modifier === altModifier && isAltGraph ? keys.filter((keyCode) => keyCode !== rightAlt) : keys,
      );
      client.SetModifierMapping(wanted, () => undefined);
      if (isAltGraph) change(rightAlt, type.oneLevel, [levelThreeShift]);
      else change(rightAlt, type.twoLevel, [altRight, metaRight]);
    },
  };
}

interface KeyTypes {
  oneLevel: number;
  twoLevel: number;
  alphabetic: number;
  fourLevel: number;
  fourLevelAlphabetic: number;
}

/** Returns the display's numbers of the types of keys. */
async function readTypes({ client, xkb }: Pick<XConnection, "client" | "xkb">): Promise<KeyTypes> {
  const { typeNames } = await promised<{ typeNames: number[] }>((done) =>
    xkb.GetNames(xkb.UseCoreKbd, xkb.NameDetail.KeyTypeNames, done),
  );
  const numberOf = async (name: string) =>
    typeNames.indexOf(await promised<number>((done) => client.InternAtom(false, name, done)));
  return {
    oneLevel: await numberOf("ONE_LEVEL"),
    twoLevel: await numberOf("TWO_LEVEL"),
    alphabetic: await numberOf("ALPHABETIC"),
    fourLevel: await numberOf("FOUR_LEVEL"),
    fourLevelAlphabetic: await numberOf("FOUR_LEVEL_ALPHABETIC"),
  };
}

/** Returns an XkbSetMap request that changes one key. The client library does not have it. */
function buildSetMap(
  opcode: number,
  device: number,
  keyCode: number,
  type: number,
  symbols: readonly number[],
): Buffer {
  const request = Buffer.alloc(setMapBytes + 8 + 4 * symbols.length);
  request[0] = opcode;
  request[1] = setMapRequest;
  request.writeUInt16LE(request.length / 4, 2);
  request.writeUInt16LE(device, 4);
  request.writeUInt16LE(keySymbolsPart, 6);
  request.writeUInt16LE(recomputeActions, 8);
  request[10] = firstKeyCode;
  request[11] = lastKeyCode;
  request[14] = keyCode;
  request[15] = 1;
  request.writeUInt16LE(symbols.length, 16);
  request[setMapBytes] = type;
  request[setMapBytes + 4] = 1; // One group.
  request[setMapBytes + 5] = symbols.length;
  request.writeUInt16LE(symbols.length, setMapBytes + 6);
  symbols.forEach((symbol, level) => request.writeUInt32LE(symbol, setMapBytes + 8 + 4 * level));
  return request;
}

const unicodeSymbol = 0x100_0000;

/** A symbol that types nothing. */
export const voidSymbol = 0xff_ffff;

/** Returns the symbol that types the character; undefined for control characters. */
export function symbolOf(character: string): number | undefined {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return undefined;
  return code <= 0xff ? code : unicodeSymbol + code;
}

/** Returns the character that the symbol types; undefined for keys such as Return and for older symbols. */
function characterOf(symbol: number): string | undefined {
  if ((symbol >= 0x20 && symbol < 0x7f) || (symbol >= 0xa0 && symbol <= 0xff))
    return String.fromCodePoint(symbol);
  const code = symbol - unicodeSymbol;
  return code > 0xff && code <= 0x10_ffff ? String.fromCodePoint(code) : undefined;
}

/** Returns whether the second symbol is the capital of the first, so that Caps Lock switches between them. */
export function isCasePair(lower: number, upper: number): boolean {
  const capital = otherCase(lower);
  return capital !== undefined && capital.isUpper && capital.symbol === upper;
}

/** Returns the symbol in the other case; undefined for characters without case. */
export function otherCase(symbol: number): { symbol: number; isUpper: boolean } | undefined {
  const character = characterOf(symbol);
  if (character === undefined) return undefined;
  const [upper, lower] = [character.toUpperCase(), character.toLowerCase()];
  const other = upper === character ? lower : upper;
  const found = Array.from(other).length === 1 && other !== character ? symbolOf(other) : undefined;
  return found === undefined ? undefined : { symbol: found, isUpper: other === upper };
}
