import type { GameNode } from "#contracts/crd/gameNode.ts";
import type { Node } from "#kube/builtin.ts";
import type { Clock } from "#runtime/clock.ts";

/** Lost takes two witnesses: the kubelet is silent (or the node is gone) and the node agent is silent too. */
export type NodeHealth = "Well" | "Doubtful" | "Lost";

/** Judges a node by its two witnesses. */
export function healthOf(node: Node | undefined, hasHeartbeat: boolean): NodeHealth {
  const isReady = node !== undefined && isNodeReady(node);
  if (isReady && hasHeartbeat) return "Well";
  return isReady || hasHeartbeat ? "Doubtful" : "Lost";
}

/** Whether the kubelet reports the node as ready. */
export function isNodeReady(node: Node): boolean {
  return node.status?.conditions?.some((condition) => condition.type === "Ready" && condition.status === "True") ?? false;
}

/**
 * Judges agents by how long their heartbeat has not changed on this process's own clock, so that clocks may differ between
 * machines. A heartbeat first seen counts as fresh: after a restart a silent agent is noticed one period late, never early.
 */
export class Heartbeats {
  readonly #clock: Clock;
  readonly #staleMs: number;
  readonly #seen = new Map<string, { renewedAt: string; atMs: number }>();

  constructor(clock: Clock, staleMs: number) {
    this.#clock = clock;
    this.#staleMs = staleMs;
  }

  /** Takes note of a GameNode's heartbeat. */
  observe({ metadata, status }: GameNode): void {
    const renewedAt = status?.heartbeat?.renewedAt;
    if (renewedAt === undefined || this.#seen.get(metadata.name)?.renewedAt === renewedAt) return;
    this.#seen.set(metadata.name, { renewedAt, atMs: this.#clock.monotonicMs() });
  }

  /** Forgets a node that is no more. */
  forget(nodeName: string): void {
    this.#seen.delete(nodeName);
  }

  /** Whether the node's agent has been heard lately. */
  isFresh(nodeName: string): boolean {
    return this.staleInMs(nodeName) > 0;
  }

  /** Time until the agent counts as silent unless it is heard; 0 when it does. */
  staleInMs(nodeName: string): number {
    const seen = this.#seen.get(nodeName);
    return seen === undefined ? 0 : Math.max(0, seen.atMs + this.#staleMs - this.#clock.monotonicMs());
  }
}
