/** The modifiers that keyboard and pointer events report. */
export type ModifierFlag = "ctrlKey" | "altKey" | "shiftKey" | "metaKey";

/** The fields of keyboard and pointer events that tell which modifiers are down and which locks are on. */
export type ModifierState = Pick<KeyboardEvent, ModifierFlag | "getModifierState">;

/** State of the player's locks, as in messages. */
export interface Locks {
  caps: 0 | 1;
  num: 0 | 1;
}

/** The flag of each modifier, by `key`: AltRight can be AltGraph, and players remap keys. */
const flagsByKey: ReadonlyMap<string, ModifierFlag> = new Map([
  ["Control", "ctrlKey"],
  ["Alt", "altKey"],
  ["Shift", "shiftKey"],
  ["Meta", "metaKey"],
]);

/** The keys that are pressed for a modifier whose press was not seen, unless it was seen before. */
const defaultKeys = { ctrlKey: "ControlLeft", altKey: "AltLeft", shiftKey: "ShiftLeft" } as const;

/** Returns the flag of a modifier's `key`; undefined for other keys. */
export function modifierFlag(key: string): ModifierFlag | undefined {
  return flagsByKey.get(key);
}

/**
 * Returns the flag that events have while this key is down; undefined if its press lacks the flag, such as
 * that of an AltRight that is AltGraph.
 */
export function reportedFlag(press: ModifierState & { readonly key: string }): ModifierFlag | undefined {
  const flag = modifierFlag(press.key);
  return flag !== undefined && press[flag] ? flag : undefined;
}

/**
 * Returns the keys of modifiers that are down according to the event, although none of the held keys is that
 * modifier: their press went to another window. `sides` has the key that the player used last for a
 * modifier.
 */
export function unseenModifiers(
  state: ModifierState,
  held: ReadonlyMap<string, ModifierFlag | undefined>,
  sides: ReadonlyMap<ModifierFlag, string>,
): [flag: ModifierFlag, code: string][] {
  // Events report AltGraph in various ways, also as Control and Alt.
  const isAltGraph = held.has("AltRight") || state.getModifierState("AltGraph");
  const known = new Set(held.values());
  return (["shiftKey", "ctrlKey", "altKey"] as const)
    .filter((flag) => state[flag] && !known.has(flag) && !(isAltGraph && flag !== "shiftKey"))
    .map((flag) => [flag, sides.get(flag) ?? defaultKeys[flag]]);
}

/**
 * Returns the locks that an event reports. Keyboards of Apple have no Num Lock, and their keypads type
 * digits.
 */
export function readLocks(state: ModifierState, isApple: boolean): Locks {
  return {
    caps: state.getModifierState("CapsLock") ? 1 : 0,
    num: isApple || state.getModifierState("NumLock") ? 1 : 0,
  };
}
