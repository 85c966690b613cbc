/** Luma that differs by this much at most counts as a single colour. */
const plainRange = 8;
/** The pointer, which is part of the picture, has at most as many pixels in the size that is compared. */
const pointerPixels = 40;
/** Samples up to this amplitude count as silence: -60 dB. */
const silence = 32;

/** What a watch process has measured since its last report. */
export interface Measured {
  /** Pictures that differ from the one before. */
  changes: number;
  /** Whether the latest picture shows a single colour, such as black. */
  isPlain: boolean;
  isHeard: boolean;
}

/** Counts the changes of pictures, given as the luma of each. */
export class PictureMeter {
  #last: Buffer | undefined;
  #changes = 0;
  #isPlain = true;

  add(luma: Buffer): void {
    if (this.#last?.equals(luma) === true) return;
    if (this.#last !== undefined) this.#changes++;
    this.#last = luma;
    this.#isPlain = isPlain(luma);
  }

  take(): Pick<Measured, "changes" | "isPlain"> {
    const changes = this.#changes;
    this.#changes = 0;
    return { changes, isPlain: this.#isPlain };
  }
}

/** Returns whether all of the picture but the pointer has nearly the same brightness. */
function isPlain(luma: Buffer): boolean {
  const counts = new Uint32Array(256);
  for (const value of luma) counts[value] = (counts[value] ?? 0) + 1;
  const usual = counts.indexOf(Math.max(...counts));
  const similar = counts.subarray(Math.max(0, usual - plainRange), usual + plainRange + 1);
  return luma.length - similar.reduce((sum, count) => sum + count, 0) <= pointerPixels;
}

/** Returns whether the samples, 16 bits each, are louder than silence. */
export function isHeard(samples: Buffer): boolean {
  for (let at = 0; at + 1 < samples.length; at += 2)
    if (Math.abs(samples.readInt16LE(at)) > silence) return true;
  return false;
}
