import { limits } from "#contracts/limits.ts";
import { isOngoing, publicStatusOf } from "#contracts/crd/sessionState.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import { keptAliveUntilAnnotation } from "#contracts/crd/names.ts";
import type { CacheReader } from "#kube/cache/cache.ts";
import type { Stored } from "#kube/api/object.ts";
import { notFound, unavailable, type DomainError } from "../../errors.ts";
import { updateGameSessionExpiry, type Keepalive } from "./gameSessionQueries.ts";
import type { Deps } from "../../deps.ts";

/**
 * Remembers when this process last saw each game session's `expiresAt` move, by its monotonic clock: so the
 * operator counts, too. The time that `expiresAt` names may be by a clock that is minutes off. It follows the
 * cache change by change.
 */
export class ExpiryMoves {
  readonly #clock: Clock;
  /** By session. */
  readonly #seen = new Map<string, { expiresAt: string; atMs: number }>();

  constructor(gameSessions: CacheReader<GameSession>, clock: Clock) {
    this.#clock = clock;
    for (const session of gameSessions.list()) this.#note(session.metadata.name, session);
    gameSessions.subscribe(({ type, object }) =>
      this.#note(object.metadata.name, type === "deleted" ? undefined : object),
    );
  }

  /**
   * Returns for how many milliseconds the session's expiry has stood still here; 0 for a session that has
   * none, or that is not known.
   */
  unmovedMs(id: string): number {
    const seen = this.#seen.get(id);
    return seen === undefined ? 0 : this.#clock.monotonicMs() - seen.atMs;
  }

  #note(id: string, session: Stored<GameSession> | undefined): void {
    const expiresAt = session?.spec.expiresAt;
    if (expiresAt === undefined) this.#seen.delete(id);
    else if (this.#seen.get(id)?.expiresAt !== expiresAt)
      this.#seen.set(id, { expiresAt, atMs: this.#clock.monotonicMs() });
  }
}

type KeepaliveDeps = Pick<
  Deps,
  "logger" | "clock" | "postgres" | "databaseOutages" | "cluster" | "expiryMoves" | "gameSessionWriter"
>;

/** In idle timeouts: an object's expiry that has not moved for so long is moved, whatever time it says. */
const unmovedMax = 0.5;

/**
 * Moves the idle expiry of the user's session and returns the new one. While the database is unavailable the
 * object in the cluster takes the new expiry: the operator ends idle sessions by it meanwhile, and the
 * sweeper begins anew after an outage. Throws not_found, also when the session has ended.
 */
export async function keepGameSessionAlive(deps: KeepaliveDeps, userId: string, id: string): Promise<Date> {
  return deps.databaseOutages.orElse(
    () => keepAliveInDatabase(deps, userId, id),
    (reason) => keepAliveInCluster(deps, userId, id, reason),
  );
}

async function keepAliveInDatabase(deps: KeepaliveDeps, userId: string, id: string): Promise<Date> {
  const keepalive = await updateGameSessionExpiry(deps.postgres.pool, id, userId);
  if (keepalive === undefined) throw noSuchSession();
  // Nobody waits for it: the row decides, and the next keepalive tries again.
  void extendInCluster(deps, id, keepalive, false).catch((error: unknown) => {
    deps.logger.warn(
      { err: error, gameSession: id },
      "The API could not extend a game session in the cluster; the next keepalive tries again.",
    );
  });
  return keepalive.expiresAt;
}

/**
 * Keeps the session alive by its object alone, which the sweeper asks before it stops the session: a
 * keepalive that the object did not take has not happened. Throws `reason` where the cluster does not know
 * the session as the user's.
 */
async function keepAliveInCluster(
  deps: KeepaliveDeps,
  userId: string,
  id: string,
  reason: DomainError,
): Promise<Date> {
  const gameSession = deps.cluster.gameSession(id);
  if (gameSession?.spec.userId !== userId) throw reason;
  if (!isOngoing(publicStatusOf(gameSession))) throw noSuchSession();
  const { idleTimeoutSeconds } = gameSession.spec;
  const expiresAt = new Date(deps.clock.now().getTime() + idleTimeoutSeconds * 1000);
  try {
    await extendInCluster(deps, id, { expiresAt, idleTimeoutSeconds }, true);
  } catch (error) {
    throw unavailable("The service is unavailable right now. Try again in a moment.", error);
  }
  return expiresAt;
}

/**
 * Moves the object's expiry, when it is near: the operator must not find a session idle before the sweeper
 * does. The operator counts from when it saw the last move, so an expiry that a clock has put far ahead is
 * moved, too, when that was long ago. `isOnly`: no row has this keepalive, so that the object must say until
 * when it holds. It says a little more, so that not each of a page's keepalives is written.
 */
async function extendInCluster(
  { cluster, expiryMoves, gameSessionWriter }: KeepaliveDeps,
  id: string,
  { expiresAt, idleTimeoutSeconds }: Keepalive,
  isOnly: boolean,
): Promise<void> {
  const gameSession = cluster.gameSession(id);
  const known = gameSession?.spec.expiresAt;
  if (known === undefined) return;
  const knownUntil = isOnly ? keptAliveUntil(gameSession) : new Date(known);
  const idleTimeoutMs = idleTimeoutSeconds * 1000;
  if (knownUntil >= expiresAt && expiryMoves.unmovedMs(id) <= unmovedMax * idleTimeoutMs) return;
  const marginMs = (limits.gameSession.expiryMargin - 1) * idleTimeoutMs;
  const expiresAtMs = expiresAt.getTime();
  // Both only move forward: where another replica's clock is ahead, the object must still take what goes with
  // it, and the operator see a move.
  const objectExpiresAt = new Date(Math.max(Date.parse(known) + 1, expiresAtMs + marginMs));
  await gameSessionWriter.extend(
    id,
    objectExpiresAt,
    isOnly ? new Date(Math.max(knownUntil.getTime(), expiresAtMs + marginMs / 2)) : undefined,
  );
}

function noSuchSession(): DomainError {
  return notFound("This session does not exist or has ended.");
}

/**
 * Returns until when keepalives that the database could not take have kept the session alive; long ago where
 * there were none.
 */
export function keptAliveUntil(gameSession: GameSession | undefined): Date {
  return new Date(gameSession?.metadata.annotations?.[keptAliveUntilAnnotation] ?? 0);
}
