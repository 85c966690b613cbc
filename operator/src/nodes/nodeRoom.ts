import type { PodResources } from "#contracts/crd/capacity.ts";
import type { Node } from "#kube/api/builtin.ts";
import { keyOf } from "#kube/api/object.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { OtherPod } from "../cluster/watchedPods.ts";
import { resourcesIn } from "../cluster/podRequests.ts";

/**
 * Tracks the resources and UDP ports that pods other than session pods take on each node, following the cache
 * change by change.
 */
export class OtherRequests {
  readonly #byNode = new Map<string, PodResources>();
  readonly #portsByNode = new Map<string, Map<number, number>>();
  readonly #byPod = new Map<string, OtherPod>();

  constructor(cluster: Pick<Cluster, "otherPods">) {
    for (const pod of cluster.otherPods.list()) this.#set(keyOf(pod), pod);
    cluster.otherPods.subscribe(({ type, object }) =>
      this.#set(keyOf(object), type === "deleted" ? undefined : object),
    );
  }

  /** Returns the total requests of these pods on a node. */
  on(nodeName: string): PodResources {
    return this.#byNode.get(nodeName) ?? { cpuMillicores: 0, memoryBytes: 0 };
  }

  /** Returns the UDP ports that these pods take on a node. */
  udpPortsOn(nodeName: string): ReadonlySet<number> {
    return new Set(this.#portsByNode.get(nodeName)?.keys());
  }

  #set(key: string, pod: OtherPod | undefined): void {
    const before = this.#byPod.get(key);
    if (before) this.#add(before, -1);
    if (pod) this.#add(pod, 1);
    if (pod) this.#byPod.set(key, pod);
    else this.#byPod.delete(key);
  }

  #add({ nodeName, requests, udpPorts }: OtherPod, sign: 1 | -1): void {
    if (nodeName === undefined) return;
    for (const port of udpPorts) this.#addPort(nodeName, port, sign);
    const { cpuMillicores, memoryBytes } = this.on(nodeName);
    const sum = {
      cpuMillicores: cpuMillicores + sign * requests.cpuMillicores,
      memoryBytes: memoryBytes + sign * requests.memoryBytes,
    };
    if (sum.cpuMillicores === 0 && sum.memoryBytes === 0) this.#byNode.delete(nodeName);
    else this.#byNode.set(nodeName, sum);
  }

  #addPort(nodeName: string, port: number, sign: 1 | -1): void {
    const ports = this.#portsByNode.get(nodeName) ?? new Map<number, number>();
    const pods = (ports.get(port) ?? 0) + sign;
    if (pods === 0) ports.delete(port);
    else ports.set(port, pods);
    if (ports.size === 0) this.#portsByNode.delete(nodeName);
    else this.#portsByNode.set(nodeName, ports);
  }
}

/**
 * Returns the resources that all session pods together may request on the node, at least zero. Undefined if
 * the node does not report its resources.
 */
export function offeredBy(node: Node, others: PodResources): PodResources | undefined {
  const { cpuMillicores, memoryBytes } = resourcesIn(node.status?.allocatable);
  if (cpuMillicores === undefined || memoryBytes === undefined) return undefined;
  return {
    cpuMillicores: Math.max(0, cpuMillicores - others.cpuMillicores),
    memoryBytes: Math.max(0, memoryBytes - others.memoryBytes),
  };
}
