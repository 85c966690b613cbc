import { limits } from "#contracts/limits.ts";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import { finalizers } from "#contracts/crd/names.ts";
import { publicStatusOf } from "#contracts/crd/sessionState.ts";
import { jittered } from "#runtime/scheduling/backOff.ts";
import { sleepUntilAborted, type Clock } from "#runtime/scheduling/clock.ts";
import { hasFinalizer } from "#kube/controllers/finalizers.ts";
import type { Logger } from "#runtime/logger.ts";
import type { Change } from "#kube/cache/cache.ts";
import type { ClusterView } from "../../cluster/clusterView.ts";
import { rateLimited, unavailable } from "../../errors.ts";
import type { AnnouncementWatch } from "../../maintenance/announcementWatch.ts";
import { nextAnnouncementMs, warningsWithin, type WarningConfig } from "./endings.ts";
import { presentGameSession } from "./present.ts";
import { listFollowedGameSessions, type GameSessionRow } from "./gameSessionQueries.ts";
import type { Postgres } from "../../stores/postgres.ts";
import { GameSessionFeed, type Follower } from "./gameSessionFeed.ts";

interface GameSessionEventsOptions {
  postgres: Postgres;
  cluster: ClusterView;
  announcements: Pick<AnnouncementWatch, "current" | "subscribe">;
  clock: Clock;
  logger: Logger;
  config: { baseUrl: string; gameSession: WarningConfig };
}

/**
 * How often all followed rows are read, to find what the cluster does not show: keepalives, and sessions that
 * it never had.
 */
const rereadMs = 10_000;
/** The same for rows in the queue: a seat waits only a minute for its player. */
const rereadQueuedMs = 2_000;
const refusedRetrySeconds = 10;

/**
 * Sends session events to their followers. The replica's copy of the cluster shows when a row must be read.
 * In addition, one statement every ten seconds reads all followed rows, however many followers there are.
 */
export class GameSessionEvents {
  readonly #options: GameSessionEventsOptions;
  readonly #feeds = new Map<string, GameSessionFeed>();
  readonly #followersOfUser = new Map<string, number>();
  #followers = 0;
  readonly #toRead = new Set<string>();
  #isReading = false;
  #skewMs = 0;
  #watching: AbortController | undefined;
  #isClosed = false;

  constructor(options: GameSessionEventsOptions) {
    this.#options = options;
  }

  /** The number of open streams. */
  get followers(): number {
    return this.#followers;
  }

  /**
   * Follows the session until it ends or the returned function is called.
   *
   * @throws DomainError `rate_limited` or `unavailable` at the limits.
   */
  follow(
    { row, userId, lastEventId }: { row: GameSessionRow; userId: string; lastEventId: string },
    follower: Follower,
  ): () => void {
    const ofUser = this.#followersOfUser.get(userId) ?? 0;
    if (ofUser >= limits.gameSession.eventStreamsPerUser) throw rateLimited(refusedRetrySeconds);
    if (this.#isClosed || this.#followers >= limits.gameSession.eventStreamsPerProcess)
      throw unavailable("No more event streams can be opened right now. Poll the session's status instead.");
    const feed = this.#feeds.get(row.id) ?? this.#open(row);
    this.#count(userId, 1);
    feed.follow(follower, lastEventId);
    let isFollowing = true;
    return () => {
      if (!isFollowing) return;
      isFollowing = false;
      this.#count(userId, -1);
      feed.unfollow(follower);
      this.#discardUnfollowed(row.id, feed);
    };
  }

  /** Ends every stream because the process stops; readers reconnect to another one. */
  close(): void {
    this.#isClosed = true;
    for (const feed of this.#feeds.values()) feed.end();
    this.#feeds.clear();
    this.#watching?.abort();
  }

  #open(row: GameSessionRow): GameSessionFeed {
    const { clock, cluster, config } = this.#options;
    const now = (): Date => new Date(clock.now().getTime() + this.#skewMs);
    const feed = new GameSessionFeed({
      row,
      clock,
      warningSeconds: warningsWithin(config.gameSession),
      present: (current) => presentGameSession(current, this.#options, now()),
      nextEndingMs: (current) =>
        nextAnnouncementMs(current, cluster.gameSession(current.id), config.gameSession, now().getTime()),
      nowMs: () => now().getTime(),
      read: () => this.#read([row.id]),
    });
    if (feed.hasEnded) return feed;
    this.#feeds.set(row.id, feed);
    this.#watch();
    // The row was read before the subscription to cluster changes began.
    this.#read([row.id]);
    return feed;
  }

  #discardUnfollowed(id: string, feed: GameSessionFeed): void {
    if (feed.isFollowed || this.#feeds.get(id) !== feed) return;
    this.#feeds.delete(id);
    if (this.#feeds.size === 0) this.#watching?.abort();
  }

  #count(userId: string, change: number): void {
    this.#followers += change;
    const count = (this.#followersOfUser.get(userId) ?? 0) + change;
    if (count === 0) this.#followersOfUser.delete(userId);
    else this.#followersOfUser.set(userId, count);
  }

  #watch(): void {
    if (this.#watching?.signal.aborted === false) return;
    const { cluster, announcements, clock } = this.#options;
    const controller = new AbortController();
    this.#watching = controller;
    const unsubscribes = [
      cluster.gameSessions.cache.subscribe((change) => this.#sessionChanged(change)),
      cluster.gameNodes.cache.subscribe(() => this.#nodeChanged()),
      announcements.subscribe(() => this.#announcementChanged()),
    ];
    controller.signal.addEventListener("abort", () => unsubscribes.forEach((unsubscribe) => unsubscribe()), {
      once: true,
    });
    const reread = async (everyMs: number, ids: () => Iterable<string>): Promise<void> => {
      while (await sleepUntilAborted(clock, jittered(everyMs, Math.random), controller.signal))
        this.#read(ids());
    };
    void reread(rereadMs, () => this.#feeds.keys());
    void reread(rereadQueuedMs, () => [...this.#feeds].filter(([, feed]) => feed.isQueued).map(([id]) => id));
  }

  #sessionChanged(change: Change<GameSession>): void {
    const id = change.object.metadata.name;
    const feed = this.#feeds.get(id);
    if (feed === undefined) return;
    // Without the object, the state is in the row, which has to be read first.
    if (change.type !== "deleted") feed.update();
    if (change.type !== "updated" || rowStateOf(change.object) !== rowStateOf(change.previous))
      this.#read([id]);
  }

  /** A node's status contains its download progress. */
  #nodeChanged(): void {
    for (const feed of this.#feeds.values()) {
      if (feed.isStarting) feed.update();
    }
  }

  #announcementChanged(): void {
    for (const feed of this.#feeds.values()) feed.update();
  }

  /** Reads these rows, together with any requested in the meantime. */
  #read(ids: Iterable<string>): void {
    for (const id of ids) this.#toRead.add(id);
    if (!this.#isReading) void this.#readAll();
  }

  async #readAll(): Promise<void> {
    this.#isReading = true;
    const { postgres, clock, logger } = this.#options;
    while (this.#toRead.size > 0) {
      const ids = [...this.#toRead].filter((id) => this.#feeds.has(id));
      this.#toRead.clear();
      try {
        const rows = ids.length === 0 ? [] : await listFollowedGameSessions(postgres.pool, ids);
        for (const { now, ...row } of rows) {
          this.#skewMs = now.getTime() - clock.now().getTime();
          this.#take(row);
        }
      } catch (error) {
        logger.warn({ err: error }, "The API could not read the followed game sessions; it retries.");
      }
    }
    this.#isReading = false;
  }

  #take(row: GameSessionRow): void {
    const feed = this.#feeds.get(row.id);
    if (feed === undefined) return;
    feed.take(row);
    this.#discardUnfollowed(row.id, feed);
  }
}

/**
 * Returns the part of an object whose change implies a change of its row: phase, requested stop and stored
 * result.
 */
function rowStateOf(gameSession: GameSession): string {
  return `${publicStatusOf(gameSession)} ${gameSession.spec.desiredState} ${hasFinalizer(gameSession, finalizers.recorder)}`;
}
