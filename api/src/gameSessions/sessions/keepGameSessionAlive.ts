import { limits } from "#contracts/limits.ts";
import { isOngoing, publicStatusOf } from "#contracts/crd/sessionState.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import { keptAliveUntilAnnotation } from "#contracts/crd/names.ts";
import type { CacheReader } from "#kube/cache/cache.ts";
import type { Stored } from "#kube/api/object.ts";
import { notFound, unavailable, type DomainError } from "../../errors.ts";
import { updateGameSessionExpiry, updateStreamConnection, type Keepalive } from "./gameSessionQueries.ts";
import type { Deps } from "../../deps.ts";

/**
 * Remembers, by this process's monotonic clock, when each session's `expiresAt` last changed. The operator
 * measures the same way, because the time in `expiresAt` may come from a clock that is minutes off.
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
   * Returns for how many milliseconds the session's expiry has not moved; 0 for an unknown session or one
   * without an expiry.
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

/**
 * In idle timeouts: an object's expiry that has not moved for this long is moved whatever time it contains.
 */
const unmovedMax = 0.5;

/**
 * Extends the idle expiry of the user's session and returns the new one. While the database is unavailable,
 * the expiry is stored in the session's object, by which the operator ends idle sessions during the outage.
 *
 * @throws DomainError `not_found`, also when the session has ended.
 */
export async function keepGameSessionAlive(deps: KeepaliveDeps, userId: string, id: string): Promise<Date> {
  return deps.databaseOutages.orElse(
    () => keepAliveInDatabase(deps, userId, id),
    (reason) => keepAliveInCluster(deps, userId, id, reason),
  );
}

/**
 * Stores a player's new connection to the stream, which counts as a keepalive. Best effort: without it, the
 * ordinary idle timeout applies when the player leaves.
 */
export async function noteStreamConnection(
  deps: KeepaliveDeps,
  { userId, id, connection }: { userId: string; id: string; connection: string },
): Promise<void> {
  const keepalive = await deps.databaseOutages
    .orElse(
      () => updateStreamConnection(deps.postgres.pool, id, userId, connection),
      () => undefined,
    )
    .catch((error: unknown) => {
      deps.logger.warn({ err: error, gameSession: id }, "The API could not store a connection to a stream.");
      return undefined;
    });
  if (keepalive !== undefined) extendInBackground(deps, id, keepalive);
}

async function keepAliveInDatabase(deps: KeepaliveDeps, userId: string, id: string): Promise<Date> {
  const keepalive = await updateGameSessionExpiry(deps.postgres.pool, id, userId);
  if (keepalive === undefined) throw noSuchSession();
  extendInBackground(deps, id, keepalive);
  return keepalive.expiresAt;
}

/** Not awaited: the row is authoritative, and the next keepalive retries. */
function extendInBackground(deps: KeepaliveDeps, id: string, keepalive: Keepalive): void {
  void extendInCluster(deps, id, keepalive, false).catch((error: unknown) => {
    deps.logger.warn(
      { err: error, gameSession: id },
      "The API could not extend a game session in the cluster; the next keepalive retries.",
    );
  });
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
 * Extends the object's expiry when it is near, so that the operator never finds a session idle before the
 * sweeper does. The operator counts from when it saw the last change, so an expiry that a wrong clock has put
 * far ahead is also moved after a while. With `isOnly` no row stores this keepalive, so the object must
 * record until when it holds: slightly longer than promised, to save a write per keepalive.
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
  // Both only move forward. If another replica's clock is ahead, the object must still accept the write, and
  // the operator must see a change.
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
 * Returns until when keepalives stored only in the object keep the session alive; the epoch if there are
 * none.
 */
export function keptAliveUntil(gameSession: GameSession | undefined): Date {
  return new Date(gameSession?.metadata.annotations?.[keptAliveUntilAnnotation] ?? 0);
}
