import { limits } from "#contracts/limits.ts";
import type { Clock, Timer } from "#runtime/scheduling/clock.ts";

const { bytes: bytesMax, everySeconds, plainBytes } = limits.save.picture;

interface MomentPicturesOptions {
  clock: Pick<Clock, "setTimer">;
  /** Takes a picture of the display. */
  takeStill: (onStill: (jpeg: Buffer) => void) => void;
  /** Whether the game runs: before and after, the display does not show it. */
  isPlaying: () => boolean;
  /** Called with each picture that is worth keeping. */
  onPicture: (jpeg: Buffer) => void;
}

/** Takes a small picture of the game at regular intervals, for the saves of that moment. */
export interface MomentPictures {
  stop(): void;
}

/**
 * Starts taking pictures. A picture is not taken for each pack, because the last pack follows the end of the
 * game, when there is nothing left to see.
 */
export function takeMomentPictures(options: MomentPicturesOptions): MomentPictures {
  const { clock, takeStill, isPlaying, onPicture } = options;
  let timer: Timer | undefined;
  const keep = (jpeg: Buffer): void => {
    // A single colour, such as a black screen between two scenes, is no better than the picture before.
    if (jpeg.length > plainBytes && jpeg.length <= bytesMax && isPlaying()) onPicture(jpeg);
  };
  const schedule = (): void => {
    timer = clock.setTimer(everySeconds * 1_000, () => {
      if (isPlaying()) takeStill(keep);
      schedule();
    });
  };
  schedule();
  return {
    stop() {
      timer?.cancel();
    },
  };
}
