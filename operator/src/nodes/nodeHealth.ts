import type { GameNode } from "#contracts/crd/gameNode.ts";
import type { Lease, Node } from "#kube/api/builtin.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";

/**
 * What the two health signals of a node say: the kubelet's Ready condition and the node agent's heartbeat.
 * Healthy takes both. Lost takes the absence of both; the signal of a node that is gone from the cluster is
 * absent. Unknown is everything between.
 */
export type NodeHealth = "Healthy" | "Unknown" | "Lost";

/** Returns the health of a node by its two signals. */
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
 * An agent counts as late when this share of the time to its silence is left: two reports of a healthy agent
 * lie closer together.
 */
const leftWhenLate = 0.4;

/** A silence that no watch has confirmed is looked at again after this. */
const unconfirmedRetryMs = 500;

/**
 * Where an agent says that it lives: in its Lease, or in the GameNode's status if it may not write the Lease
 * or is of a release without one.
 */
export type HeartbeatPlace = "lease" | "status";

/** What was seen of an agent: its last word in each place, and when one of them changed. */
interface Seen {
  words: Partial<Record<HeartbeatPlace, string>>;
  atMs: number;
  isHeard: boolean;
}

/**
 * Measures on this process's own clock how long an agent's heartbeat has not changed, so that clocks may
 * differ between machines. A heartbeat that is seen for the first time counts as fresh: after a restart a
 * silent agent is noticed one period late, never early. Silence is counted as far as the watch was heard that
 * would have told of a heartbeat: one that is dead without a word makes no agent silent.
 */
export class Heartbeats {
  readonly #clock: Clock;
  readonly #staleMs: number;
  readonly #behindForMs: (place: HeartbeatPlace) => number | undefined;
  readonly #seen = new Map<string, Seen>();

  /**
   * `behindForMs` returns the time since which heartbeats of the place may have come that have not been told;
   * undefined before any could be.
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

  /** Notes what a GameNode says of its agent. */
  observe({ metadata, status }: GameNode): void {
    this.#note(metadata.name, "status", status?.heartbeat?.renewedAt);
  }

  /**
   * Notes what a Lease says of the agent of the node of its name; one that the agent has yet to renew says
   * nothing.
   */
  observeLease({ metadata, spec }: Lease): void {
    this.#note(metadata.name, "lease", spec?.renewTime);
  }

  /**
   * Waits for all agents anew, as a process does that has just begun: a standby may have heard nothing for
   * reasons of its own.
   */
  beginAnew(): void {
    for (const [nodeName, seen] of this.#seen)
      this.#seen.set(nodeName, { ...seen, atMs: this.#clock.monotonicMs(), isHeard: false });
  }

  /** Forgets a node that is gone. */
  forget(nodeName: string): void {
    this.#seen.delete(nodeName);
  }

  /** Returns whether the node's agent has reported in time. */
  isFresh(nodeName: string): boolean {
    return this.staleInMs(nodeName) > 0;
  }

  /**
   * Returns whether the node's agent has reported in time, and to this very process: not only before its
   * start.
   */
  isHeard(nodeName: string): boolean {
    return this.isFresh(nodeName) && this.#seen.get(nodeName)?.isHeard === true;
  }

  /** Returns whether the agent has missed reports, long before it counts as silent. */
  isLate(nodeName: string): boolean {
    const seen = this.#seen.get(nodeName);
    return seen === undefined || this.#silentForMs(seen) > this.#staleMs * (1 - leftWhenLate);
  }

  /**
   * Returns the milliseconds after which the agent may count as silent unless it reports; 0 when it counts as
   * silent already.
   */
  staleInMs(nodeName: string): number {
    const seen = this.#seen.get(nodeName);
    if (seen === undefined || this.#silentForMs(seen) >= this.#staleMs) return 0;
    const leftMs = seen.atMs + this.#staleMs - this.#clock.monotonicMs();
    return leftMs > 0 ? leftMs : unconfirmedRetryMs;
  }

  /** An agent that has renewed its Lease goes on to do so; what it says in the status has other causes. */
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
