import { saveReasons } from "#contracts/crd/reasons.ts";
import { limits } from "#contracts/limits.ts";
import { Refusal } from "../errors.ts";

const pageBytes = 4096;

/** Counts what a walk sees, and ends it where a save's limits are. */
export interface Tally {
  /** A name of any kind, packed or not. Throws Refusal. */
  addName(): void;
  /** A file's size. Throws Refusal. */
  addFile(bytes: number): void;
  /** What the files take in memory, in whole pages. */
  bytes(): number;
}

/** Returns a count that begins at nothing. */
export function createTally(): Tally {
  let names = 0;
  let bytes = 0;
  return {
    addName() {
      names += 1;
      if (names > limits.save.entries) throw new Refusal(saveReasons.saveTooLarge, `The save directory has more than ${limits.save.entries} names, which is more than a save may have.`);
    },
    addFile(size) {
      bytes += Math.ceil(size / pageBytes) * pageBytes;
      if (bytes > limits.save.unpackedBytes) throw new Refusal(saveReasons.saveTooLarge, `The save directory holds more than ${limits.save.unpackedBytes} bytes, which is more than a save may have.`);
    },
    bytes: () => bytes,
  };
}
