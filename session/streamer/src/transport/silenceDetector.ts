import type { Clock, Timer } from "#runtime/scheduling/clock.ts";

const checkEveryMs = 1_000;

interface SilenceDetectorOptions {
  clock: Pick<Clock, "monotonicMs" | "setTimer">;
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
  clock,
  afterMs,
  beforeStartMs,
  onSilent,
}: SilenceDetectorOptions): SilenceDetector {
  // One more than fit into the time, because the first may follow the last packet at once.
  const silentChecks = Math.ceil(afterMs / checkEveryMs) + 1;
  let heardAt = clock.monotonicMs();
  // Checks since the last packet. A streamer that stood still itself has what came meanwhile yet to read: it
  // missed checks, and the time would be up at once.
  let quietChecks = 0;
  let timer: Timer | undefined;
  let isStopped = false;

  const check = () => {
    timer = clock.setTimer(checkEveryMs, check);
    quietChecks++;
    if (quietChecks === silentChecks) onSilent();
  };
  return {
    start() {
      if (!isStopped) timer ??= clock.setTimer(checkEveryMs, check);
    },
    heard() {
      heardAt = clock.monotonicMs();
      quietChecks = 0;
    },
    isSilent: () => clock.monotonicMs() - heardAt >= (timer === undefined ? beforeStartMs : afterMs),
    stop() {
      isStopped = true;
      timer?.cancel();
    },
  };
}
