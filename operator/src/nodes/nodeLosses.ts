import type { GameNode } from "#contracts/crd/gameNode.ts";
import { isConditionTrue } from "#kube/api/conditions.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Logger } from "#runtime/logger.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { healthOf, isNodeReady, type Heartbeats, type NodeHealth } from "./nodeHealth.ts";

/** The brake does not apply to fewer silent nodes than this. */
const leastSilentNodes = 3;

export interface NodeLossesDeps {
  cluster: Pick<Cluster, "nodes" | "gameNodes">;
  heartbeats: Heartbeats;
  /**
   * If more than this percentage of the game nodes goes silent at once, none is declared lost. 100 turns this
   * off.
   */
  brakePercent: number;
  metrics: { nodeLossBraked(isBraked: boolean): void };
  logger: Logger;
  clock: Clock;
  /** How long nodes that are still silent may take to return after the brake is released. */
  returnMs: number;
}

/**
 * Decides which nodes are lost. A node is lost if both of its signals are gone while most other nodes still
 * report. If many nodes go silent at once, the network to them has probably failed, and their sessions
 * continue. A node that was declared lost no longer counts, and stays lost until it reports again.
 */
export class NodeLosses {
  readonly #deps: NodeLossesDeps;
  #isBraked = false;
  #releasedAtMs: number | undefined;

  constructor(deps: NodeLossesDeps) {
    this.#deps = deps;
    deps.metrics.nodeLossBraked(false);
  }

  /** Returns the health of a node: Unknown instead of Lost while the brake is active. */
  healthOf(nodeName: string): NodeHealth {
    const { cluster, heartbeats } = this.#deps;
    const node = cluster.nodes.get(nodeName);
    const gameNode = cluster.gameNodes.get(nodeName);
    if (gameNode !== undefined && this.#isDeclaredLost(gameNode)) return "Lost";
    const health = healthOf(node, heartbeats.isFresh(nodeName));
    if (health !== "Lost" && !this.#isBraked) return health;
    this.#brake();
    // A node that was removed from the cluster is not merely unreachable.
    return health === "Lost" && node !== undefined && (this.#isBraked || this.#isJustReleased())
      ? "Unknown"
      : health;
  }

  /** Returns whether both signals of the node are gone, regardless of the brake. */
  isSilent(nodeName: string): boolean {
    const { cluster, heartbeats } = this.#deps;
    return healthOf(cluster.nodes.get(nodeName), heartbeats.isFresh(nodeName)) === "Lost";
  }

  /** Nodes that were cut off together return one by one, within one or two report intervals. */
  #isJustReleased(): boolean {
    return (
      this.#releasedAtMs !== undefined &&
      this.#deps.clock.monotonicMs() - this.#releasedAtMs < this.#deps.returnMs
    );
  }

  #isDeclaredLost({ metadata: { name }, status }: GameNode): boolean {
    if (!isConditionTrue(status?.conditions, "Lost")) return false;
    const node = this.#deps.cluster.nodes.get(name);
    return !(node !== undefined && isNodeReady(node)) && !this.#deps.heartbeats.isHeard(name);
  }

  /**
   * Counts late heartbeats, because they are the earliest signal. When the second signal of one node
   * disappears, the agents of all nodes cut off with it are already late, while their kubelets may count as
   * ready for some seconds more.
   */
  #brake(): void {
    const { cluster, heartbeats, brakePercent, logger, metrics, clock } = this.#deps;
    const counted = cluster.gameNodes
      .list()
      .filter((gameNode) => gameNode.status?.heartbeat !== undefined && !this.#isDeclaredLost(gameNode));
    const silent = counted.filter(({ metadata }) => heartbeats.isLate(metadata.name)).length;
    const isBraked = silent >= leastSilentNodes && silent * 100 > brakePercent * counted.length;
    if (isBraked === this.#isBraked) return;
    this.#isBraked = isBraked;
    this.#releasedAtMs = isBraked ? undefined : clock.monotonicMs();
    metrics.nodeLossBraked(isBraked);
    if (isBraked)
      logger.warn(
        { silent, gameNodes: counted.length },
        "Many game nodes went silent at the same time. None is declared lost, and their sessions continue.",
      );
    else
      logger.info(
        { silent, gameNodes: counted.length },
        "Most game nodes report again. A node that stays silent is declared lost after a grace period.",
      );
  }
}
