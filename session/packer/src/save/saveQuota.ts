import { saveReasons } from "#contracts/crd/gameSessionReasons.ts";
import { limits } from "#contracts/limits.ts";
import { SaveError } from "../errors.ts";

const pageBytes = 4096;

/** Counts the names and bytes of a save and enforces its limits. */
export interface SaveQuota {
  /**
   * Counts a name of any kind, packed or not.
   *
   * @throws SaveError above the limit.
   */
  addName(): void;
  /**
   * Counts a file's size.
   *
   * @throws SaveError above the limit.
   */
  addFile(bytes: number): void;
  /** Returns the memory that the files occupy, in whole pages. */
  bytes(): number;
}

/** Returns an unused quota. */
export function createSaveQuota(): SaveQuota {
  let names = 0;
  let bytes = 0;
  return {
    addName() {
      names += 1;
      if (names > limits.save.entries)
        throw new SaveError(
          saveReasons.saveTooLarge,
          `The save directory is too large: it has more than ${limits.save.entries} names.`,
        );
    },
    addFile(size) {
      bytes += Math.ceil(size / pageBytes) * pageBytes;
      if (bytes > limits.save.unpackedBytes)
        throw new SaveError(
          saveReasons.saveTooLarge,
          `The save directory is too large: it holds more than ${limits.save.unpackedBytes} bytes.`,
        );
    },
    bytes: () => bytes,
  };
}
