import type { Clock, Timer } from "#runtime/scheduling/clock.ts";

/**
 * Sending faster than the rate delivers a picture early; a much higher factor would fill the path's queue.
 */
const pacingFactor = 2.5;
/**
 * An ordinary picture passes without delay: the burst is this much time at the rate, and at least a few
 * packets.
 */
const burstMs = 40;
const minBurstBytes = 12_000;
/** Interval between attempts to send; timers are not more accurate. */
const tickMs = 2;
/** Packets that would wait longer than this are too old to be shown. */
const maxWaitingMs = 500;
const minWaitingBytes = 250_000;

export interface PacerOptions {
  clock: Pick<Clock, "monotonicMs" | "setTimer">;
  rateKbps: () => number;
  send: (packet: Buffer) => void;
  /** Called when the queue was discarded. */
  onOverflow: () => void;
}

/** Spreads pictures that are larger than usual over time. */
export interface Pacer {
  push(packet: Buffer): void;
  /** Counts bytes that are sent without passing through the pacer. */
  spend(bytes: number): void;
  waitingBytes(): number;
  /** Discards the queue. */
  clear(): void;
  close(): void;
}

/** Returns a pacer: a token bucket that fills at a multiple of the rate, behind a queue. */
export function createPacer({ clock, rateKbps, send, onOverflow }: PacerOptions): Pacer {
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  let debtBytes = 0;
  let paidAt = clock.monotonicMs();
  let timer: Timer | undefined;

  const burstBytes = () => Math.max(minBurstBytes, (rateKbps() / 8) * burstMs);
  const pay = () => {
    const at = clock.monotonicMs();
    debtBytes = Math.max(0, debtBytes - (((at - paidAt) * rateKbps()) / 8) * pacingFactor);
    paidAt = at;
  };
  const drain = () => {
    timer = undefined;
    pay();
    while (waiting[0] && debtBytes < burstBytes()) {
      const packet = waiting.shift();
      if (!packet) break;
      waitingBytes -= packet.length;
      debtBytes += packet.length;
      send(packet);
    }
    if (waiting.length > 0) timer = clock.setTimer(tickMs, drain);
  };
  const clear = () => {
    waiting = [];
    waitingBytes = 0;
  };

  return {
    push(packet) {
      waiting.push(packet);
      waitingBytes += packet.length;
      if (waitingBytes > Math.max(minWaitingBytes, (rateKbps() / 8) * maxWaitingMs)) {
        clear();
        onOverflow();
      } else if (!timer) drain();
    },
    spend(bytes) {
      debtBytes += bytes;
    },
    waitingBytes: () => waitingBytes,
    clear,
    close() {
      timer?.cancel();
      clear();
    },
  };
}
