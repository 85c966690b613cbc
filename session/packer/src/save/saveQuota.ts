import { saveReasons } from "#contracts/crd/gameSessionReasons.ts";
import { limits } from "#contracts/limits.ts";
import { SaveError } from "../errors.ts";

const pageBytes = 4096;

/** Counts names and bytes of a save, and enforces its limits. */
export interface SaveQuota {
  /** Counts a name of any kind, packed or not. Throws SaveError above the limit. */
  addName(): void;
  /** Counts a file's size. Throws SaveError above the limit. */
  addFile(bytes: number): void;
  /** Returns the memory that the files take, in whole pages. */
  bytes(): number;
}

/** Returns a quota of which nothing is used. */
export function createSaveQuota(): SaveQuota {
  let names = 0;
  let bytes = 0;
  return {
    addName() {
      names += 1;
      if (names > limits.save.entries)
        throw new SaveError(
          saveReasons.saveTooLarge,
          `The save directory has more than ${limits.save.entries} names, which is more than a save may have.`,
        );
    },
    addFile(size) {
      bytes += Math.ceil(size / pageBytes) * pageBytes;
      if (bytes > limits.save.unpackedBytes)
        throw new SaveError(
          saveReasons.saveTooLarge,
          `The save directory holds more than ${limits.save.unpackedBytes} bytes, which is more than a save may have.`,
        );
    },
    bytes: () => bytes,
  };
}
