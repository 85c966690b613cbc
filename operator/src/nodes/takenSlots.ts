import { isFinished } from "#contracts/crd/sessionConditions.ts";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import type { Pod } from "#kube/builtin.ts";
import type { ObjectCache } from "#kube/cache.ts";
import type { KubeObject, Stored } from "#kube/object.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { isSessionPod, isTerminal, nodeOfPod } from "../sessionPods/podState.ts";

/** Why a session takes a slot: each alone is enough. */
type Claim = "session" | "pod" | "assignment";

/** Which sessions take a slot of which node, kept up to date with each change: a placement asks of all nodes at once. */
export class TakenSlots {
  /** By claim and name of the session: the node. */
  readonly #nodes: Record<Claim, Map<string, string>> = { session: new Map(), pod: new Map(), assignment: new Map() };
  /** By node and name of the session: how many claims it has there. */
  readonly #claims = new Map<string, Map<string, number>>();

  constructor({ gameSessions, pods }: Pick<Cluster, "gameSessions" | "pods">) {
    this.#follow(gameSessions, "session", nodeOfSession);
    this.#follow(pods, "pod", nodeOfLivePod);
  }

  /** Returns how many sessions take a slot of the node, that of this name aside: placed and not finished, with a pod that has not ended, or just assigned. */
  countOn(nodeName: string, except: string): number {
    const onNode = this.#claims.get(nodeName);
    return onNode === undefined ? 0 : onNode.size - (onNode.has(except) ? 1 : 0);
  }

  /** Notes that the session will be placed on the node; undefined: that its status shows its place, or that it has none. */
  assign(session: string, nodeName: string | undefined): void {
    this.#claim("assignment", session, nodeName);
  }

  #follow<T extends KubeObject>(cache: Pick<ObjectCache<T>, "list" | "subscribe">, claim: Claim, nodeOf: (object: Stored<T>) => string | undefined): void {
    for (const object of cache.list()) this.#claim(claim, object.metadata.name, nodeOf(object));
    cache.subscribe(({ type, object }) => this.#claim(claim, object.metadata.name, type === "deleted" ? undefined : nodeOf(object)));
  }

  #claim(claim: Claim, session: string, nodeName: string | undefined): void {
    const before = this.#nodes[claim].get(session);
    if (before === nodeName) return;
    if (before !== undefined) this.#count(before, session, -1);
    if (nodeName === undefined) this.#nodes[claim].delete(session);
    else {
      this.#nodes[claim].set(session, nodeName);
      this.#count(nodeName, session, 1);
    }
  }

  #count(nodeName: string, session: string, difference: number): void {
    const onNode = this.#claims.get(nodeName) ?? new Map<string, number>();
    const claims = (onNode.get(session) ?? 0) + difference;
    if (claims > 0) onNode.set(session, claims);
    else onNode.delete(session);
    if (onNode.size > 0) this.#claims.set(nodeName, onNode);
    else this.#claims.delete(nodeName);
  }
}

function nodeOfSession(session: GameSession): string | undefined {
  return isFinished(session) ? undefined : session.status?.nodeName;
}

function nodeOfLivePod(pod: Pod): string | undefined {
  return isSessionPod(pod) && !isTerminal(pod) ? nodeOfPod(pod) : undefined;
}
