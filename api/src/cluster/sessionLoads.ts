import type { GameNode } from "#contracts/crd/gameNode.ts";
import { finalizers } from "#contracts/crd/names.ts";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import {
  addShares,
  noShare,
  sessionShare,
  subtractShares,
  type NodeShare,
} from "#contracts/crd/nodeShare.ts";
import { isFinished } from "#contracts/crd/sessionState.ts";
import type { CacheReader } from "#kube/cache/cache.ts";
import type { Stored } from "#kube/api/object.ts";

/** What sessions take of a node, without what each pod requests beside its game. */
interface Load extends NodeShare {
  sessions: number;
}

const noLoad: Load = { ...noShare, sessions: 0 };
const noOverhead = { cpuMillicores: 0, memoryBytes: 0 };

/**
 * What the sessions in the cluster take of each node, and those that have no node yet. It follows the cache
 * change by change.
 */
export class SessionLoads {
  readonly #byNode = new Map<string, Load>();
  readonly #placed = new Map<string, { nodeName: string; share: NodeShare }>();
  readonly #unplaced = new Map<string, NodeShare>();
  /** Sessions that an admin made by hand. */
  readonly #foreign = new Set<string>();

  constructor(gameSessions: CacheReader<GameSession>) {
    for (const session of gameSessions.list()) this.#set(session.metadata.name, session);
    gameSessions.subscribe(({ type, object }) =>
      this.#set(object.metadata.name, type === "deleted" ? undefined : object),
    );
  }

  /** Returns what sessions take of the node. */
  on({ metadata, status }: GameNode): NodeShare {
    const { sessions, ...share } = this.#byNode.get(metadata.name) ?? noLoad;
    const { cpuMillicores, memoryBytes } = status?.capacity?.overhead ?? noOverhead;
    return addShares(share, {
      slots: 0,
      cpuMillicores: sessions * cpuMillicores,
      memoryBytes: sessions * memoryBytes,
    });
  }

  /**
   * Returns how many sessions of the API the cluster can run: the slots of all nodes that take sessions, and
   * those that its sessions have on other nodes, less what sessions have that an admin made by hand. The
   * API's own sessions are counted in the database, which knows of them before the cluster does.
   */
  offeredSlots(gameNodes: readonly GameNode[]): number {
    const schedulable = gameNodes.filter(({ status }) => status?.capacity?.schedulable === true);
    const slots = schedulable.reduce((sum, { status }) => sum + (status?.capacity?.slots ?? 0), 0);
    const placedThere = schedulable.reduce(
      (sum, { metadata }) => sum + (this.#byNode.get(metadata.name)?.sessions ?? 0),
      0,
    );
    return slots + (this.#placed.size - placedThere) - this.#foreign.size;
  }

  /** Returns whether the cluster is known to have the session, and not to have finished it. */
  has(id: string): boolean {
    return this.#placed.has(id) || this.#unplaced.has(id);
  }

  /** Returns what each session that waits for a node takes, without what its pod requests beside its game. */
  unplaced(): NodeShare[] {
    return [...this.#unplaced.values()];
  }

  #set(name: string, session: Stored<GameSession> | undefined): void {
    const before = this.#placed.get(name);
    if (before) this.#add(before.nodeName, subtractShares(noShare, before.share), -1);
    this.#placed.delete(name);
    this.#unplaced.delete(name);
    this.#foreign.delete(name);
    if (session === undefined || isFinished(session)) return;
    // A finished session of ours has lost its finalizer too, but then it holds no slot any more.
    if (session.metadata.finalizers?.includes(finalizers.recorder) !== true) this.#foreign.add(name);
    const share = sessionShare(session.spec, noOverhead);
    const nodeName = session.status?.nodeName;
    if (nodeName === undefined) this.#unplaced.set(name, share);
    else {
      this.#placed.set(name, { nodeName, share });
      this.#add(nodeName, share, 1);
    }
  }

  #add(nodeName: string, share: NodeShare, sessions: 1 | -1): void {
    const load = this.#byNode.get(nodeName) ?? noLoad;
    const count = load.sessions + sessions;
    if (count === 0) this.#byNode.delete(nodeName);
    else this.#byNode.set(nodeName, { ...addShares(load, share), sessions: count });
  }
}
