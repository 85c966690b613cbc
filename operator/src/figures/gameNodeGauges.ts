import { Gauge, type Registry } from "prom-client";
import type { GameNode } from "#contracts/crd/gameNode.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { NodeLoads } from "../nodes/nodeLoads.ts";
import type { NodeLosses } from "../nodes/nodeLosses.ts";

/** What the gauges of game nodes are read from. */
export interface GameNodeGaugesDeps {
  cluster: Pick<Cluster, "gameNodes">;
  nodeLosses: Pick<NodeLosses, "isSilent">;
  /** What sessions take; GameNodes say it some seconds late. */
  loads: Pick<NodeLoads, "on">;
  registry: Registry;
}

/** Shows the capacity, health and conditions of each game node. */
export function gameNodeGauges({ cluster, nodeLosses, loads, registry }: GameNodeGaugesDeps): void {
  const byNode = (name: string, help: string, valueOf: (node: GameNode) => number): void => {
    new Gauge({
      name,
      help,
      labelNames: ["node"],
      registers: [registry],
      collect() {
        this.reset();
        for (const gameNode of cluster.gameNodes.list())
          this.set({ node: gameNode.metadata.name }, valueOf(gameNode));
      },
    });
  };
  const used = ({ metadata }: GameNode): number => loads.on(metadata.name).slots;
  byNode(
    "joypod_game_node_slots",
    "Capacity slots of a game node.",
    ({ status }) => status?.capacity?.slots ?? 0,
  );
  byNode("joypod_game_node_slots_used", "Capacity slots that sessions take.", used);
  byNode(
    "joypod_game_node_slots_free",
    "Capacity slots that a launch can get: none on a node that takes no sessions.",
    (gameNode) => freeSlots(gameNode, used(gameNode)),
  );
  byNode("joypod_game_node_schedulable", "1 for a game node that takes new sessions, else 0.", ({ status }) =>
    Number(status?.capacity?.schedulable === true),
  );
  byNode(
    "joypod_game_node_silent",
    "1 while neither kubelet nor node agent reports, else 0.",
    ({ metadata }) => Number(nodeLosses.isSilent(metadata.name)),
  );
  showConditions(cluster, registry);
}

function freeSlots({ status }: GameNode, used: number): number {
  const { slots = 0, schedulable = false } = status?.capacity ?? {};
  return schedulable ? Math.max(0, slots - used) : 0;
}

function showConditions(cluster: GameNodeGaugesDeps["cluster"], registry: Registry): void {
  new Gauge({
    name: "joypod_game_node_condition",
    help: "1 for each condition of a GameNode that is True, 0 for one that is False; absent where it is not known.",
    labelNames: ["node", "condition"],
    registers: [registry],
    collect() {
      this.reset();
      for (const {
        metadata: { name: node },
        status,
      } of cluster.gameNodes.list()) {
        for (const { type: condition, status: value } of status?.conditions ?? [])
          if (value !== "Unknown") this.set({ node, condition }, Number(value === "True"));
      }
    },
  });
}
