import { limits, mebibyte } from "#contracts/limits.ts";

/** Returns what the files of a game's save may take, in bytes: what the game says, or the default. */
export function saveBytesMaxOf(saveLimitMb: number | null): number {
  return saveLimitMb === null ? limits.save.volumeBytes.default : saveLimitMb * mebibyte;
}
