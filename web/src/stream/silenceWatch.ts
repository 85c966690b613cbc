const lookMs = 250;
/** Sound and reports arrive many times a second, even while the picture does not change. */
const silentMs = 1_750;

/** Dependencies of a watch. */
export interface SilenceWatchOptions {
  /**
   * Returns the amount of received sound, pictures and reports on them, as a number that grows with each
   * packet, from 0.
   */
  received: () => Promise<number>;
  /** Returns whether the network works at all. */
  isReachable: () => Promise<boolean>;
  /** Called at most once. */
  onOneWay: () => void;
  /** Monotonic, in milliseconds. */
  now?: () => number;
  /** Calls `work` after the time; returns the function that cancels it. */
  schedule?: (ms: number, work: () => void) => () => void;
}

/**
 * Notices that nothing arrives over a working network: the streamer sends to an old address, for example
 * after the player's address changed while both ends consider the old path valid. The transport notices that
 * only after half a minute. A network that does not work is waited for, because the connection may recover
 * with it. Starts with the first packet; returns the function that ends it.
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

  /** Returns whether anything has arrived since the last look. */
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
      ); // A connection that closes during a look has no statistics.
  };
  plan();
  return () => {
    isOver = true;
    cancel?.();
  };
}

/**
 * Returns the number of received packets plus the times of the last reports: a number that grows with both.
 */
export function countReceived(report: RTCStatsReport): number {
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
