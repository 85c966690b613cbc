import { limits } from "#contracts/limits.ts";

const longestKeepaliveMs = limits.gameSession.keepaliveIntervalSeconds * 1_000;
/** Also the pause after a keepalive that failed. */
export const shortestKeepaliveMs = 5_000;

/** Three keepalives fit into what is left, so that two may be lost; a platform may have a shorter idle timeout than usual. */
export function keepalivePauseMs(expiresAt: string, now: number): number {
  return Math.min(longestKeepaliveMs, Math.max(shortestKeepaliveMs, (Date.parse(expiresAt) - now) / 3));
}
