/**
 * A child that plays sends twenty pictures a second, also of what stands still; one that sends none for so
 * many seconds hangs in its driver.
 */
const hungSeconds = 5;
/**
 * Before its first picture a child starts: Node, GStreamer and the driver, which take their time on a busy
 * machine. The probe waits for as long for those in software.
 */
const startSeconds = 20;

/** Notices that a child hangs from which pictures are to come. */
export interface HangDetector {
  /** A child begins to play: its first picture is waited for. */
  begin(): void;
  /** A picture has come. */
  seen(): void;
  /**
   * To be called once a second; returns how many seconds nothing has come for when that is too long, and then
   * counts anew.
   */
  count(isPlaying: boolean): number | undefined;
}

/**
 * Seconds are counted one by one: who was stopped as a whole for longer has not waited for the child
 * meanwhile.
 */
export function createHangDetector(): HangDetector {
  let silentSeconds = 0;
  let hasPicture = false;
  return {
    begin() {
      silentSeconds = 0;
      hasPicture = false;
    },
    seen() {
      silentSeconds = 0;
      hasPicture = true;
    },
    count(isPlaying) {
      silentSeconds = isPlaying ? silentSeconds + 1 : 0;
      if (silentSeconds < (hasPicture ? hungSeconds : startSeconds)) return undefined;
      const seconds = silentSeconds;
      silentSeconds = 0;
      return seconds;
    },
  };
}
