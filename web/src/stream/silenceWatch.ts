const lookMs = 250;
/** Sound and reports come many times a second, also while the picture stands still. */
const silentMs = 1_750;

/** What a watch looks at. */
export interface SilenceWatchOptions {
  /**
   * Returns what has come of sound, pictures and reports on them, as a number that grows with each packet,
   * from 0.
   */
  received: () => Promise<number>;
  /** Returns whether the network lets anything through at all. */
  isReachable: () => Promise<boolean>;
  /** Called at most once. */
  onOneWay: () => void;
  /** Monotonic, in milliseconds. */
  now?: () => number;
  /** Calls `work` after the time; returns how to call that off. */
  schedule?: (ms: number, work: () => void) => () => void;
}

/**
 * Notices that nothing comes any more over a network that works: the streamer sends elsewhere, as where the
 * player's address has changed and both ends still take the old path for a good one. The transport itself
 * finds that out after half a minute. A network that lets nothing through is waited for: the connection may
 * go on when it is back. Begins with the first packet; returns how to end it.
 */
export function watchSilence({
  received,
  isReachable,
  onOneWay,
  now = () => performance.now(),
  schedule = onTimer,
}: SilenceWatchOptions): () => void {
  let isOver = false;
  let cancel: (() => void) | undefined;
  let heard = 0;
  let heardAt: number | undefined;

  /** Returns whether something has come since the last look. */
  async function hasHeard(): Promise<boolean> {
    const soFar = await received();
    if (soFar === heard) return false;
    heard = soFar;
    heardAt = now();
    return true;
  }

  async function look(): Promise<void> {
    const isSilent = !(await hasHeard()) && heardAt !== undefined && now() - heardAt >= silentMs;
    if (isSilent && (await isReachable()) && !(await hasHeard()) && !isOver) {
      isOver = true;
      onOneWay();
    }
  }

  const plan = (): void => {
    if (!isOver)
      cancel = schedule(
        lookMs,
        () =>
          void look()
            .catch(() => undefined)
            .then(plan),
      ); // A connection that closes during a look has no figures.
  };
  plan();
  return () => {
    isOver = true;
    cancel?.();
  };
}

/**
 * Returns how many packets of sound and pictures have come, and adds when the last report on each was made: a
 * number that grows with both.
 */
export function receivedOf(report: RTCStatsReport): number {
  let count = 0;
  report.forEach((entry: Record<string, unknown>) => {
    const packets =
      entry["type"] === "inbound-rtp"
        ? entry["packetsReceived"]
        : entry["type"] === "remote-outbound-rtp"
          ? entry["remoteTimestamp"]
          : undefined;
    if (typeof packets === "number") count += packets;
  });
  return count;
}

function onTimer(ms: number, work: () => void): () => void {
  const timer = setTimeout(work, ms);
  return () => clearTimeout(timer);
}
