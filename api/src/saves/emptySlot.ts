import { limits } from "#contracts/limits.ts";

/** Returns the lowest number of a game's slots that none of these has; undefined when all are in use. */
export function lowestEmptyNumber(slots: readonly { number: number }[]): number | undefined {
  const taken = new Set(slots.map(({ number }) => number));
  for (let number = 1; number <= limits.saveSlotsPerGame; number++) {
    if (!taken.has(number)) return number;
  }
  return undefined;
}
