import type { Schedule } from "../schedule.ts";

/**
 * Sending faster than the rate lets a picture arrive early; several times as fast would fill the path's
 * queue.
 */
const pacingFactor = 2.5;
/** An ordinary picture passes at once: so much time of the rate, and a few packets at the least. */
const burstMs = 40;
const minBurstBytes = 12_000;
/** Waiting for the next packets; timers are not finer. */
const tickMs = 2;
/** Packets that would wait for longer than this are too old to be shown. */
const maxWaitingMs = 500;
const minWaitingBytes = 250_000;

export interface PacerOptions {
  /** Milliseconds, monotonic. */
  now: () => number;
  schedule: Schedule;
  rateKbps: () => number;
  send: (packet: Buffer) => void;
  /** Called when what waited was discarded. */
  onOverflow: () => void;
}

/** Spreads a picture that is larger than an ordinary one over time. */
export interface Pacer {
  push(packet: Buffer): void;
  /** Counts what is sent past the pacer. */
  spend(bytes: number): void;
  waitingBytes(): number;
  /** Discards what waits. */
  clear(): void;
  close(): void;
}

/** Returns a pacer: a token bucket that fills at a multiple of the rate, and a queue in front of it. */
export function createPacer({ now, schedule, rateKbps, send, onOverflow }: PacerOptions): Pacer {
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  let debtBytes = 0;
  let paidAt = now();
  let cancel: (() => void) | undefined;

  const burstBytes = () => Math.max(minBurstBytes, (rateKbps() / 8) * burstMs);
  const pay = () => {
    const at = now();
    debtBytes = Math.max(0, debtBytes - (((at - paidAt) * rateKbps()) / 8) * pacingFactor);
    paidAt = at;
  };
  const drain = () => {
    cancel = undefined;
    pay();
    while (waiting[0] && debtBytes < burstBytes()) {
      const packet = waiting.shift();
      if (!packet) break;
      waitingBytes -= packet.length;
      debtBytes += packet.length;
      send(packet);
    }
    if (waiting.length > 0) cancel = schedule(tickMs, drain);
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
      } else if (!cancel) drain();
    },
    spend(bytes) {
      debtBytes += bytes;
    },
    waitingBytes: () => waitingBytes,
    clear,
    close() {
      cancel?.();
      clear();
    },
  };
}
