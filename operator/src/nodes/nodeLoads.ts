import {
  addShares,
  noShare,
  sessionShare,
  subtractShares,
  type NodeShare,
  type PodResources,
} from "#contracts/crd/nodeShare.ts";
import { isFinished } from "#contracts/crd/sessionState.ts";
import { keyOf } from "#kube/api/object.ts";
import { isTerminal } from "#kube/api/builtin.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { podRequests } from "../cluster/podRequests.ts";
import { isSessionPod, nodeOfPod } from "../sessionPods/podState.ts";

/**
 * What the sessions on each node take of it: those placed and not finished, and pods that have not ended. It
 * follows the caches change by change, so that to ask for a node's sum costs the same however many sessions
 * there are.
 */
export class NodeLoads {
  readonly #cluster: Pick<Cluster, "gameSessions" | "pods">;
  readonly #overhead: PodResources;
  readonly #byNode = new Map<string, NodeShare>();
  /** By session key: what it takes, by node. It is on two while it moves. */
  readonly #bySession = new Map<string, Map<string, NodeShare>>();

  constructor(cluster: Pick<Cluster, "gameSessions" | "pods">, overhead: PodResources) {
    this.#cluster = cluster;
    this.#overhead = overhead;
    for (const known of [...cluster.gameSessions.list(), ...cluster.pods.list()]) this.#update(keyOf(known));
    cluster.gameSessions.subscribe(({ object }) => this.#update(keyOf(object)));
    cluster.pods.subscribe(({ object }) => this.#update(keyOf(object)));
  }

  /** Returns what all sessions take of the node; without that of one session where its key is given. */
  on(nodeName: string, exceptKey?: string): NodeShare {
    const all = this.#byNode.get(nodeName) ?? noShare;
    const own = exceptKey === undefined ? undefined : this.ofSession(exceptKey, nodeName);
    return own === undefined ? all : subtractShares(all, own);
  }

  /** Returns what the session takes of the node; undefined when nothing. */
  ofSession(key: string, nodeName: string): NodeShare | undefined {
    return this.#bySession.get(key)?.get(nodeName);
  }

  #update(key: string): void {
    const before = this.#bySession.get(key) ?? new Map<string, NodeShare>();
    const after = this.#sharesOf(key);
    for (const [nodeName, share] of before) this.#add(nodeName, subtractShares(noShare, share));
    for (const [nodeName, share] of after) this.#add(nodeName, share);
    if (after.size === 0) this.#bySession.delete(key);
    else this.#bySession.set(key, after);
  }

  #add(nodeName: string, share: NodeShare): void {
    const sum = addShares(this.#byNode.get(nodeName) ?? noShare, share);
    if (sum.slots === 0) this.#byNode.delete(nodeName);
    else this.#byNode.set(nodeName, sum);
  }

  /** The pod's own figures count where it is, as admission may have added to what was asked for. */
  #sharesOf(key: string): Map<string, NodeShare> {
    const shares = new Map<string, NodeShare>();
    const session = this.#cluster.gameSessions.get(key);
    const asked = session && sessionShare(session.spec, this.#overhead);
    if (asked && !isFinished(session) && session.status?.nodeName !== undefined)
      shares.set(session.status.nodeName, asked);
    const pod = this.#cluster.pods.get(key);
    const nodeName = pod && nodeOfPod(pod);
    if (!pod || nodeName === undefined || !isSessionPod(pod) || isTerminal(pod)) return shares;
    const requested = podRequests(pod);
    const placed = shares.get(nodeName) ?? noShare;
    shares.set(nodeName, {
      slots: asked?.slots ?? 1,
      cpuMillicores: Math.max(requested.cpuMillicores, placed.cpuMillicores),
      memoryBytes: Math.max(requested.memoryBytes, placed.memoryBytes),
    });
    return shares;
  }
}
