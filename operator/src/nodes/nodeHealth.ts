import type { GameNode } from "#contracts/crd/gameNode.ts";
import type { Lease, Node } from "#kube/api/builtin.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";

/**
 * Combines the two health signals of a node: the kubelet's Ready condition and the node agent's heartbeat.
 * Healthy requires both. Lost requires that both are absent; a node that is gone from the cluster has no
 * kubelet signal. Everything else is Unknown.
 */
export type NodeHealth = "Healthy" | "Unknown" | "Lost";

/** Returns the health of a node from its two signals. */
export function healthOf(node: Node | undefined, hasHeartbeat: boolean): NodeHealth {
  const isReady = node !== undefined && isNodeReady(node);
  if (isReady && hasHeartbeat) return "Healthy";
  return isReady || hasHeartbeat ? "Unknown" : "Lost";
}

/** Returns whether the kubelet reports the node as ready. */
export function isNodeReady(node: Node): boolean {
  return (
    node.status?.conditions?.some((condition) => condition.type === "Ready" && condition.status === "True") ??
    false
  );
}

/**
 * An agent counts as late when this share of the time until it counts as silent is left. Healthy agents
 * report at shorter intervals.
 */
const lateRemainingShare = 0.4;

/** Retry interval while no watch has confirmed that an agent is silent. */
const unconfirmedRetryMs = 500;

/**
 * Where an agent reports its heartbeat: in its Lease, or in the GameNode's status if it may not write the
 * Lease or belongs to a release without one.
 */
export type HeartbeatPlace = "lease" | "status";

/** The last heartbeat seen from an agent in each place, and when one of them changed. */
interface Seen {
  words: Partial<Record<HeartbeatPlace, string>>;
  atMs: number;
  isHeard: boolean;
}

/**
 * Measures how long an agent's heartbeat has not changed, on this process's clock, so that clocks may differ
 * between machines. A heartbeat seen for the first time counts as fresh: after a restart a silent agent is
 * detected one period late, never early. Silence counts only up to the time the watch was last heard, so a
 * dead watch does not make an agent silent.
 */
export class Heartbeats {
  readonly #clock: Clock;
  readonly #staleMs: number;
  readonly #behindForMs: (place: HeartbeatPlace) => number | undefined;
  readonly #seen = new Map<string, Seen>();

  /**
   * `behindForMs` returns how far the place's watch may be behind, in milliseconds. Undefined before its
   * first sync.
   */
  constructor(
    clock: Clock,
    staleMs: number,
    behindForMs: (place: HeartbeatPlace) => number | undefined = () => 0,
  ) {
    this.#clock = clock;
    this.#staleMs = staleMs;
    this.#behindForMs = behindForMs;
  }

  /** Records the heartbeat in a GameNode. */
  observe({ metadata, status }: GameNode): void {
    this.#note(metadata.name, "status", status?.heartbeat?.renewedAt);
  }

  /**
   * Records the heartbeat in the Lease of the node of the same name. A Lease that the agent has not renewed
   * yet counts as no heartbeat.
   */
  observeLease({ metadata, spec }: Lease): void {
    this.#note(metadata.name, "lease", spec?.renewTime);
  }

  /**
   * Treats all agents as just seen, like a new process. A standby may have missed heartbeats because of its
   * own connection.
   */
  reset(): void {
    for (const [nodeName, seen] of this.#seen)
      this.#seen.set(nodeName, { ...seen, atMs: this.#clock.monotonicMs(), isHeard: false });
  }

  /** Forgets a deleted node. */
  forget(nodeName: string): void {
    this.#seen.delete(nodeName);
  }

  /** Returns whether the node's agent has reported in time. */
  isFresh(nodeName: string): boolean {
    return this.staleInMs(nodeName) > 0;
  }

  /** Returns whether the node's agent has reported in time since this process started. */
  isHeard(nodeName: string): boolean {
    return this.isFresh(nodeName) && this.#seen.get(nodeName)?.isHeard === true;
  }

  /** Returns whether the agent has missed reports, long before it counts as silent. */
  isLate(nodeName: string): boolean {
    const seen = this.#seen.get(nodeName);
    return seen === undefined || this.#silentForMs(seen) > this.#staleMs * (1 - lateRemainingShare);
  }

  /** Returns the milliseconds until the agent counts as silent unless it reports. 0 if it already does. */
  staleInMs(nodeName: string): number {
    const seen = this.#seen.get(nodeName);
    if (seen === undefined || this.#silentForMs(seen) >= this.#staleMs) return 0;
    const leftMs = seen.atMs + this.#staleMs - this.#clock.monotonicMs();
    return leftMs > 0 ? leftMs : unconfirmedRetryMs;
  }

  /** An agent that has renewed its Lease keeps renewing it. Its changes of the status have other causes. */
  #silentForMs({ words, atMs }: Seen): number {
    const behindMs = this.#behindForMs(words.lease === undefined ? "status" : "lease");
    return behindMs === undefined ? 0 : this.#clock.monotonicMs() - behindMs - atMs;
  }

  #note(nodeName: string, place: HeartbeatPlace, word: string | undefined): void {
    const seen = this.#seen.get(nodeName);
    const before = seen?.words[place];
    if (word === undefined || word === before) return;
    const isHeard = seen?.isHeard === true || before !== undefined;
    this.#seen.set(nodeName, {
      words: { ...seen?.words, [place]: word },
      atMs: this.#clock.monotonicMs(),
      isHeard,
    });
  }
}
