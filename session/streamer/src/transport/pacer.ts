import type { Clock, Timer } from "#runtime/scheduling/clock.ts";

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
  clock: Pick<Clock, "monotonicMs" | "setTimer">;
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
