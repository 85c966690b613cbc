import { limits } from "#contracts/limits.ts";

const maxPauseMs = limits.gameSession.keepaliveIntervalSeconds * 1_000;
const minPauseMs = 5_000;

/** Pause after a keepalive that failed. */
export const failedKeepalivePauseMs = minPauseMs;

/**
 * Returns the pause before the next keepalive: a third of the time that is left, so that two keepalives in a
 * row may be lost. A platform may have a shorter idle timeout than usual.
 */
export function keepalivePauseMs(leftMs: number): number {
  return Math.min(maxPauseMs, Math.max(minPauseMs, leftMs / 3));
}
