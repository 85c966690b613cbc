import type { Arrival } from "./arrivals.ts";

/** A part of what home routers queue. A key frame can be asked for again by its end. */
const holdMs = 250;

/** A time in which nothing is sent, so that a queue that overflows becomes shorter. */
export interface Hold {
  begin(at: number): void;
  /**
   * Whether the report of these packets tells only of what was sent before the hold's end, which says nothing
   * of the path any more.
   */
  isStale(reported: readonly Arrival[]): boolean;
}

/**
 * Calls `onBegin` with how many milliseconds nothing is to be sent, and `onReported` when it is reported that
 * something was sent again.
 */
export function createHold(onBegin: (ms: number) => void, onReported: () => void): Hold {
  let endsAt: number | undefined;
  return {
    begin(at) {
      endsAt = at + holdMs;
      onBegin(holdMs);
    },
    isStale(reported) {
      const end = endsAt;
      if (end === undefined) return false;
      if (!reported.some(({ sentAtMs }) => sentAtMs >= end)) return true;
      endsAt = undefined;
      onReported();
      return false;
    },
  };
}
