import type { PacerOptions } from "./pacer.ts";

const checkEveryMs = 1_000;

export interface SilenceDetectorOptions extends Pick<PacerOptions, "now" | "schedule"> {
  /** How long nothing has come when it is silent. */
  afterMs: number;
  /** The same before `start`. */
  beforeStartMs: number;
  /** Called once in each silence, within a second after `afterMs`. */
  onSilent: () => void;
}

/** Notices that a browser is silent whose packets came several times a second. */
export interface SilenceDetector {
  /**
   * Calls `onSilent` from now on, until it is stopped; for a browser from which packets come all the time.
   */
  start(): void;
  /** A packet has come. */
  heard(): void;
  isSilent(): boolean;
  /** Ends for good, as the connection does. */
  stop(): void;
}

export function createSilenceDetector({
  now,
  schedule,
  afterMs,
  beforeStartMs,
  onSilent,
}: SilenceDetectorOptions): SilenceDetector {
  // One more than fit into the time, because the first may follow the last packet at once.
  const silentChecks = Math.ceil(afterMs / checkEveryMs) + 1;
  let heardAt = now();
  // Checks since the last packet. A streamer that stood still itself has what came meanwhile yet to read: it
  // missed checks, and the time would be up at once.
  let quietChecks = 0;
  let cancel: (() => void) | undefined;
  let isStopped = false;

  const check = () => {
    cancel = schedule(checkEveryMs, check);
    quietChecks++;
    if (quietChecks === silentChecks) onSilent();
  };
  return {
    start() {
      if (!isStopped) cancel ??= schedule(checkEveryMs, check);
    },
    heard() {
      heardAt = now();
      quietChecks = 0;
    },
    isSilent: () => now() - heardAt >= (cancel === undefined ? beforeStartMs : afterMs),
    stop() {
      isStopped = true;
      cancel?.();
    },
  };
}
