import type { GameSession } from "#contracts/crd/gameSession.ts";
import {
  addShares,
  noShare,
  sessionShare,
  subtractShares,
  type NodeShare,
  type NodeLoads,
  unlimitedResources,
} from "#contracts/crd/capacity.ts";
import { scheduledReasons, type ScheduledReason } from "#contracts/crd/gameSessionReasons.ts";
import { isFinished } from "#contracts/crd/sessionState.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import { isOlderVersion, keyOf, type Stored } from "#kube/api/object.ts";
import type { Cluster } from "../../cluster/cluster.ts";
import type { Config } from "../../config.ts";
import type { Heartbeats } from "../../nodes/nodeHealth.ts";
import type { Moments } from "./moments.ts";
import { addressesOn } from "../../nodes/addresses.ts";
import { failedCheck } from "../../nodes/nodeChecks.ts";
import { isFilling } from "../../nodes/nodeFill.ts";
import { isGameNode, slotsOf, unschedulableReason } from "../../nodes/slots.ts";
import { offeredBy, type OtherRequests } from "../../nodes/nodeRoom.ts";
import { portsOn } from "../../nodes/occupancy.ts";
import { stateOn } from "../../content/fill.ts";
import { chooseNode, choosePort, noFreePortOn, noNodeReason, type Candidate } from "./placement.ts";
import { hostPortsOf, nodeOfPod } from "../../sessionPods/podState.ts";

/** A session's placement: slots on a node and a media port there. */
export interface Assignment {
  nodeName: string;
  mediaPort: number;
  address: string | undefined;
}

/** How long a port is avoided after a pod was refused because of it. */
const refusedPortMs = 3_600_000;

/** The reason why no place was found, for the session's Scheduled condition. */
export interface NoPlace {
  reason: Exclude<ScheduledReason, typeof scheduledReasons.nodeAssigned>;
  message: string;
}

export interface AssignmentsDeps {
  cluster: Cluster;
  config: Pick<
    Config,
    | "gameNodeSelector"
    | "sessionNodeSelector"
    | "gpu"
    | "tolerations"
    | "softwareSlots"
    | "mediaPorts"
    | "announceAddresses"
    | "podOverhead"
    | "timing"
  >;
  loads: NodeLoads;
  otherRequests: OtherRequests;
  heartbeats: Heartbeats;
  moments: Pick<Moments, "seenAtMs">;
  clock: Clock;
}

/**
 * Assigns slots and ports, one decision at a time. Each decision considers the caches and recent assignments
 * that the watches have not shown yet, so sessions placed at the same moment never share a slot or port.
 */
export class Assignments {
  readonly #deps: AssignmentsDeps;
  /**
   * Assignments not yet visible in the session's status, by session key, with the version of the session each
   * was made for.
   */
  readonly #recent = new Map<string, Assignment & { uid: string; version: string; share: NodeShare }>();
  /**
   * Ports that recently belonged to a pod or were refused, by node, with the monotonic time in milliseconds
   * from which each may be assigned again.
   */
  readonly #quarantine = new Map<string, Map<number, number>>();

  constructor(deps: AssignmentsDeps) {
    this.#deps = deps;
    deps.cluster.pods.subscribe((change) => {
      if (change.type === "deleted") this.quarantine(nodeOfPod(change.object), hostPortsOf(change.object));
    });
  }

  /**
   * Returns slots and a port on the best node that is not excluded. Repeated calls return the same assignment
   * until the session's status shows it or has changed without it.
   */
  assign(session: Stored<GameSession>, excluded: readonly string[] = []): Assignment | NoPlace {
    this.#settle();
    const key = keyOf(session);
    const assigned = this.#recent.get(key);
    if (
      assigned?.uid === session.metadata.uid &&
      !excluded.includes(assigned.nodeName) &&
      this.#isSchedulable(assigned.nodeName)
    )
      return assigned;
    this.#recent.delete(key);
    return this.#assignOnBest(session, this.#candidates(session, excluded));
  }

  /** Returns a different port on the session's node. */
  reassignPort(session: Stored<GameSession>, nodeName: string): Assignment | NoPlace {
    this.#settle();
    const assigned = this.#recent.get(keyOf(session));
    if (
      assigned?.uid === session.metadata.uid &&
      assigned.nodeName === nodeName &&
      assigned.mediaPort !== session.status?.ports?.media
    )
      return assigned;
    return this.#assignOn(session, nodeName);
  }

  /** Keeps the ports of a node from being assigned for the quarantine time. */
  quarantine(nodeName: string | undefined, ports: readonly number[]): void {
    this.#keepOut(nodeName, ports, this.#deps.config.timing.portQuarantineMs);
  }

  /**
   * Excludes a port of a node for an hour. A pod was refused because of it, so something that the caches do
   * not show uses it.
   */
  avoid(nodeName: string, port: number): void {
    this.#keepOut(nodeName, [port], refusedPortMs);
  }

  #keepOut(nodeName: string | undefined, ports: readonly number[], forMs: number): void {
    if (nodeName === undefined || ports.length === 0) return;
    const until = this.#deps.clock.monotonicMs() + forMs;
    const onNode = this.#quarantine.get(nodeName) ?? new Map<number, number>();
    // The refused pod is deleted soon after, which must not shorten the hour.
    for (const port of ports) onNode.set(port, Math.max(until, onNode.get(port) ?? until));
    this.#quarantine.set(nodeName, onNode);
  }

  /**
   * Assigns a place on the best node that has room and a media port. Ports are counted per node on demand,
   * because the first node usually has free ones.
   */
  #assignOnBest(session: Stored<GameSession>, candidates: readonly Candidate[]): Assignment | NoPlace {
    const needed = sessionShare(session.spec, this.#deps.config.podOverhead);
    const withoutPort = new Set<string>();
    for (;;) {
      const chosen = chooseNode(
        candidates.filter(({ nodeName }) => !withoutPort.has(nodeName)),
        needed,
      );
      if (!chosen)
        return withoutPort.size > 0
          ? noFreePortOn([...withoutPort])
          : noNodeReason(candidates, needed, candidates.length === 0 ? this.#refusedNodes() : []);
      const place = this.#assignOn(session, chosen.nodeName);
      if ("nodeName" in place) return place;
      withoutPort.add(chosen.nodeName);
    }
  }

  #assignOn(session: Stored<GameSession>, nodeName: string): Assignment | NoPlace {
    const { config } = this.#deps;
    const mediaPort = choosePort(config.mediaPorts, this.#takenPorts(nodeName));
    if (mediaPort === undefined)
      return {
        reason: scheduledReasons.noFreePort,
        message: `All media ports of node ${nodeName} are in use.`,
      };
    const [address] = addressesOn(nodeName, this.#deps);
    const assignment = { nodeName, mediaPort, address };
    const { uid, resourceVersion: version } = session.metadata;
    this.#recent.set(keyOf(session), {
      ...assignment,
      uid,
      version,
      share: sessionShare(session.spec, config.podOverhead),
    });
    return assignment;
  }

  /**
   * Drops assignments that the caches show, that are over, or that can no longer be written. An assignment is
   * written only to the session version it was made for, so a newer version either shows it or never will.
   */
  #settle(): void {
    for (const [key, { uid, version, nodeName, mediaPort }] of this.#recent) {
      const session = this.#deps.cluster.gameSessions.get(key);
      const isShown = session?.status?.nodeName === nodeName && session.status.ports?.media === mediaPort;
      if (
        session?.metadata.uid !== uid ||
        isShown ||
        isFinished(session) ||
        isOlderVersion(version, session.metadata.resourceVersion)
      )
        this.#recent.delete(key);
    }
  }

  #candidates(session: Stored<GameSession>, excluded: readonly string[]): Candidate[] {
    const { cluster, config, loads, otherRequests } = this.#deps;
    const key = keyOf(session);
    const unseen = this.#unseenLoads(key);
    return cluster.gameNodes.list().flatMap(({ metadata: { name }, status }) => {
      const node = cluster.nodes.get(name);
      if (!node || excluded.includes(name) || !this.#isSchedulable(name)) return [];
      const content = (status?.cache && stateOn(status.cache, session.spec.contentDigest)) ?? "Absent";
      const slots = slotsOf(node, config);
      const load = addShares(loads.on(name, key), unseen.get(name) ?? noShare);
      const left = subtractShares(
        { slots, ...(offeredBy(node, otherRequests.on(name)) ?? unlimitedResources) },
        load,
      );
      return [
        {
          nodeName: name,
          slots,
          used: load.slots,
          left,
          content: content === "Queued" ? "Downloading" : content,
          isFilling: isFilling(status?.conditions),
        },
      ];
    });
  }

  /** Loads assigned to other sessions and not yet visible in the caches, by node. */
  #unseenLoads(exceptKey: string): Map<string, NodeShare> {
    const { loads } = this.#deps;
    const unseen = new Map<string, NodeShare>();
    for (const [key, { nodeName, share }] of this.#recent) {
      if (key === exceptKey || loads.ofSession(key, nodeName) !== undefined) continue;
      unseen.set(nodeName, addShares(unseen.get(nodeName) ?? noShare, share));
    }
    return unseen;
  }

  #isSchedulable(nodeName: string): boolean {
    const { cluster, config, heartbeats } = this.#deps;
    const node = cluster.nodes.get(nodeName);
    return (
      node !== undefined &&
      isGameNode(node, config) &&
      unschedulableReason(node, heartbeats.isFresh(nodeName), config) === undefined &&
      failedCheck(cluster.gameNodes.get(nodeName)?.status?.conditions) === undefined
    );
  }

  /** Returns why nodes take no sessions, from their GameNodes. */
  #refusedNodes(): string[] {
    return this.#deps.cluster.gameNodes
      .list()
      .flatMap(({ metadata: { name }, status }) => {
        const unschedulable = status?.capacity?.unschedulable;
        return unschedulable === undefined
          ? []
          : [`${name}: ${unschedulable.reason}: ${unschedulable.message}`];
      })
      .sort();
  }

  /**
   * Returns whether the port of a finished session is still held. Stale connection tracking on the node could
   * direct a new session's packets to the old pod.
   */
  #isInQuarantine(finished: Stored<GameSession>): boolean {
    const { moments, clock, config } = this.#deps;
    const seenAtMs = moments.seenAtMs(keyOf(finished), "finishedAt");
    return seenAtMs === undefined || clock.monotonicMs() - seenAtMs < config.timing.portQuarantineMs;
  }

  #takenPorts(nodeName: string): Set<number> {
    const { cluster, clock, otherRequests } = this.#deps;
    const taken = portsOn(cluster, nodeName, (finished) => this.#isInQuarantine(finished));
    for (const port of otherRequests.udpPortsOn(nodeName)) taken.add(port);
    for (const assigned of this.#recent.values())
      if (assigned.nodeName === nodeName) taken.add(assigned.mediaPort);
    const onNode = this.#quarantine.get(nodeName) ?? new Map<number, number>();
    for (const [port, until] of onNode) {
      if (until <= clock.monotonicMs()) onNode.delete(port);
      else taken.add(port);
    }
    return taken;
  }
}
