import type { QueuePlace } from "#contracts/http/gameSessions.ts";
import { limits } from "#contracts/limits.ts";
import { estimateWait, type QueueMeasure } from "./estimateWait.ts";

/** A session's place in the queue, and what its wait is estimated from. */
export interface QueueRow extends QueueMeasure {
  position: number;
  /** Earlier launches without a seat. */
  ahead: number;
  /** Since when a seat is held for the session; null while there is none. */
  offeredAt: string | null;
}

/** Returns the stage of a session that waits in the queue, and its place. */
export function presentQueued(row: QueueRow): { stage: "queued"; queue: QueuePlace } {
  return { stage: "queued", queue: presentPlace(row) };
}

function presentPlace({ position, ahead, offeredAt, ...measure }: QueueRow): QueuePlace {
  if (offeredAt === null)
    return { position, ...(measure.seats > 0 && { waitSeconds: estimateWait(ahead, measure) }) };
  const confirmBy = new Date(Date.parse(offeredAt) + limits.queue.confirmSeconds * 1000);
  return { position, confirmBy: confirmBy.toISOString() };
}
