import {
  NodeLoads,
  noOverhead,
  sessionShare,
  sessionsMax,
  type NodeShare,
  type ShortageInput,
} from "#contracts/crd/capacity.ts";
import type { GameNode } from "#contracts/crd/gameNode.ts";
import { finalizers } from "#contracts/crd/names.ts";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import { isVerification } from "#contracts/crd/gameSessionSpec.ts";
import { isFinished } from "#contracts/crd/sessionState.ts";
import type { CacheReader } from "#kube/cache/cache.ts";
import type { Stored } from "#kube/api/object.ts";

/**
 * What the cluster's sessions take of its nodes, kept up to date from the cache. Shares exclude what pods
 * request in addition to their game.
 */
export class SessionLoads {
  readonly #placed = new NodeLoads();
  readonly #unplaced = new Map<string, NodeShare>();
  /** Sessions that an admin created. */
  readonly #foreign = new Set<string>();

  constructor(gameSessions: CacheReader<GameSession>) {
    for (const session of gameSessions.list()) this.#set(session.metadata.name, session);
    gameSessions.subscribe(({ type, object }) =>
      this.#set(object.metadata.name, type === "deleted" ? undefined : object),
    );
  }

  /** What sessions with a node take of it. */
  get placed(): ShortageInput["loads"] {
    return this.#placed;
  }

  /** Returns the shares of sessions that have no node yet. */
  unplaced(): NodeShare[] {
    return [...this.#unplaced.values()];
  }

  /**
   * Returns how many of the API's sessions fit the cluster, running ones included. Sessions that an admin
   * created take their place first. The API counts its own sessions in the database, which knows them
   * sooner.
   */
  offeredSlots(gameNodes: readonly GameNode[]): number {
    return sessionsMax(gameNodes, this.#placed) - this.#foreign.size;
  }

  /** Returns whether the cluster is known to have the session, and not to have finished it. */
  has(id: string): boolean {
    return this.#placed.has(id) || this.#unplaced.has(id);
  }

  #set(name: string, session: Stored<GameSession> | undefined): void {
    this.#unplaced.delete(name);
    this.#foreign.delete(name);
    // Verifications give way to players, so they take nothing.
    const isLive = session !== undefined && !isFinished(session) && !isVerification(session.spec);
    const nodeName = isLive ? session.status?.nodeName : undefined;
    const share = isLive ? sessionShare(session.spec, noOverhead) : undefined;
    this.#placed.set(name, new Map(share === undefined || nodeName === undefined ? [] : [[nodeName, share]]));
    if (share !== undefined && nodeName === undefined) this.#unplaced.set(name, share);
    // A finished session of the API has lost its finalizer too, but it no longer holds a slot.
    if (isLive && session.metadata.finalizers?.includes(finalizers.recorder) !== true)
      this.#foreign.add(name);
  }
}
