import type { Clock, Timer } from "#runtime/scheduling/clock.ts";

const checkEveryMs = 1_000;

interface SilenceDetectorOptions {
  clock: Pick<Clock, "monotonicMs" | "setTimer">;
  /** Time without packets after which a browser counts as silent. */
  afterMs: number;
  /** The same time before `start`. */
  beforeStartMs: number;
  /** Called once per silence, within a second after `afterMs`. */
  onSilent: () => void;
}

/** Detects that a browser which sends several packets a second has gone silent. */
export interface SilenceDetector {
  /** Enables `onSilent` until `stop`. Call it once the browser sends packets continuously. */
  start(): void;
  /** Records a packet. */
  noteHeard(): void;
  isSilent(): boolean;
  /** Stops permanently. */
  stop(): void;
}

export function createSilenceDetector({
  clock,
  afterMs,
  beforeStartMs,
  onSilent,
}: SilenceDetectorOptions): SilenceDetector {
  // One more than fits into the time, because the first check may follow the last packet immediately.
  const silentChecks = Math.ceil(afterMs / checkEveryMs) + 1;
  let heardAt = clock.monotonicMs();
  // Checks since the last packet. Counting checks instead of time tolerates a streamer that was paused: it
  // still has to read what arrived meanwhile.
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
    noteHeard() {
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
