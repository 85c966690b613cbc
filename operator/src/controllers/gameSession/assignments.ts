import type { GameSession } from "#contracts/crd/gameSession.ts";
import { isFinished } from "#contracts/crd/sessionConditions.ts";
import type { Clock } from "#runtime/clock.ts";
import { keyOf, type Stored } from "#kube/object.ts";
import type { Cluster } from "../../cluster/cluster.ts";
import type { Config } from "../../config.ts";
import type { Heartbeats } from "../../nodes/nodeHealth.ts";
import { addressesOf } from "../../nodes/addresses.ts";
import { hasLabels, slotsOf, unschedulableBecause } from "../../nodes/slots.ts";
import { portsOn, sessionsOn } from "../../nodes/occupancy.ts";
import { announceAddress, chooseNode, choosePort, type Candidate } from "./placement.ts";
import { hostPortsOf, nodeOfPod } from "../../sessionPods/podState.ts";

/** A session's place: a slot of a node and a media port there. */
export interface Assignment {
  nodeName: string;
  mediaPort: number;
  address: string | undefined;
}

/** Why no place was found, for the session's Scheduled condition. */
export interface NoPlace {
  reason: "NoGameNodes" | "NoCapacity" | "NoFreePort";
  message: string;
}

export interface AssignmentsDeps {
  cluster: Cluster;
  config: Pick<Config, "gameNodeSelector" | "gpuResourceName" | "softwareSlots" | "mediaPorts" | "announceAddress" | "timing">;
  heartbeats: Heartbeats;
  clock: Clock;
}

/**
 * Gives out slots and ports, one decision at a time: each looks at the stores and at what was given out lately but has not
 * come back by a watch, so that sessions placed at the same moment never share a slot or a port.
 */
export class Assignments {
  readonly #deps: AssignmentsDeps;
  /** By session key: given out, and not yet seen in the session's status. */
  readonly #recent = new Map<string, Assignment & { uid: string }>();
  /** By node: ports whose pod went away, and the monotonic time at which they may be given out again. */
  readonly #quarantine = new Map<string, Map<number, number>>();

  constructor(deps: AssignmentsDeps) {
    this.#deps = deps;
    deps.cluster.pods.subscribe((change) => {
      if (change.type === "deleted") this.quarantine(nodeOfPod(change.object), hostPortsOf(change.object));
    });
  }

  /** A slot and a port on the best node that is not excluded; the same answer until the session's status shows it. */
  assign(session: Stored<GameSession>, excluded: readonly string[] = []): Assignment | NoPlace {
    this.#settle();
    const key = keyOf(session);
    const given = this.#recent.get(key);
    if (given?.uid === session.metadata.uid && !excluded.includes(given.nodeName) && this.#isSchedulable(given.nodeName)) return given;
    this.#recent.delete(key);
    const candidates = this.#candidates(session, excluded);
    const chosen = chooseNode(candidates);
    if (!chosen) {
      return candidates.length === 0
        ? { reason: "NoGameNodes", message: "No game node is schedulable." }
        : { reason: "NoCapacity", message: `All slots of ${candidates.length} game nodes are taken.` };
    }
    return this.#give(session, chosen.nodeName);
  }

  /** Another port on the session's node, which is not the one it has. */
  reassignPort(session: Stored<GameSession>, nodeName: string): Assignment | NoPlace {
    this.#settle();
    const given = this.#recent.get(keyOf(session));
    if (given?.uid === session.metadata.uid && given.nodeName === nodeName && given.mediaPort !== session.status?.ports?.media) return given;
    return this.#give(session, nodeName);
  }

  /** Keeps the ports of a node from being given out for the quarantine time. */
  quarantine(nodeName: string | undefined, ports: readonly number[]): void {
    if (nodeName === undefined || ports.length === 0) return;
    const until = this.#deps.clock.monotonicMs() + this.#deps.config.timing.portQuarantineMs;
    const onNode = this.#quarantine.get(nodeName) ?? new Map<number, number>();
    for (const port of ports) onNode.set(port, until);
    this.#quarantine.set(nodeName, onNode);
  }

  #give(session: Stored<GameSession>, nodeName: string): Assignment | NoPlace {
    const { config, cluster } = this.#deps;
    const mediaPort = choosePort(config.mediaPorts, this.#takenPorts(nodeName));
    if (mediaPort === undefined) return { reason: "NoFreePort", message: `All media ports of node ${nodeName} are taken.` };
    const node = cluster.nodes.get(nodeName);
    const address = node && announceAddress(config.announceAddress, addressesOf(node));
    const assignment = { nodeName, mediaPort, address };
    this.#recent.set(keyOf(session), { ...assignment, uid: session.metadata.uid });
    return assignment;
  }

  /** Forgets what the stores show by now, or what is over. */
  #settle(): void {
    for (const [key, { uid, nodeName, mediaPort }] of this.#recent) {
      const session = this.#deps.cluster.gameSessions.get(key);
      const isShown = session?.status?.nodeName === nodeName && session.status.ports?.media === mediaPort;
      if (session?.metadata.uid !== uid || isShown || isFinished(session)) this.#recent.delete(key);
    }
  }

  #candidates(session: GameSession, excluded: readonly string[]): Candidate[] {
    const { cluster, config } = this.#deps;
    return cluster.gameNodes.list().flatMap(({ metadata: { name }, status }) => {
      const node = cluster.nodes.get(name);
      if (!node || excluded.includes(name) || !this.#isSchedulable(name)) return [];
      const content = status?.cache?.entries.find(({ digest }) => digest === session.spec.contentDigest)?.state ?? "Absent";
      return [{
        nodeName: name,
        slots: slotsOf(node, config),
        used: this.#usedSlots(name, session.metadata.name),
        content: content === "Queued" ? "Downloading" : content,
      }];
    });
  }

  #isSchedulable(nodeName: string): boolean {
    const { cluster, config, heartbeats } = this.#deps;
    const node = cluster.nodes.get(nodeName);
    return node !== undefined && hasLabels(node, config.gameNodeSelector)
      && unschedulableBecause(node, heartbeats.isFresh(nodeName)) === undefined;
  }

  #usedSlots(nodeName: string, except: string): number {
    const names = sessionsOn(this.#deps.cluster, nodeName);
    for (const [key, given] of this.#recent) if (given.nodeName === nodeName) names.add(key.slice(key.indexOf("/") + 1));
    names.delete(except);
    return names.size;
  }

  #takenPorts(nodeName: string): Set<number> {
    const { cluster, clock, config } = this.#deps;
    const taken = portsOn(cluster, nodeName, { now: clock.now(), ms: config.timing.portQuarantineMs });
    for (const given of this.#recent.values()) if (given.nodeName === nodeName) taken.add(given.mediaPort);
    const onNode = this.#quarantine.get(nodeName) ?? new Map<number, number>();
    for (const [port, until] of onNode) {
      if (until <= clock.monotonicMs()) onNode.delete(port);
      else taken.add(port);
    }
    return taken;
  }
}
