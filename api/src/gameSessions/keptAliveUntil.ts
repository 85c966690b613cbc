import type { GameSession } from "#contracts/crd/gameSession.ts";
import { keptAliveUntilAnnotation } from "#contracts/crd/names.ts";

/**
 * Returns until when keepalives that the database could not take have kept the session alive; long ago where
 * there were none.
 */
export function keptAliveUntil(gameSession: GameSession | undefined): Date {
  return new Date(gameSession?.metadata.annotations?.[keptAliveUntilAnnotation] ?? 0);
}
