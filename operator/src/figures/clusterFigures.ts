import { Gauge, type Registry } from "prom-client";
import type { GameNode } from "#contracts/crd/gameNode.ts";
import type { GameSession, GameSessionPhase } from "#contracts/crd/gameSession.ts";
import { isFinished, isSavePending } from "#contracts/crd/sessionState.ts";
import { keyOf, type Stored } from "#kube/api/object.ts";
import type { CacheReader } from "#kube/cache/cache.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { NodeLoads } from "#contracts/crd/capacity.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { NodeLosses } from "../nodes/nodeLosses.ts";
import type { LaunchSteps } from "./launchSteps.ts";

/** Maximum number of sessions with metrics of their own. Further sessions appear only in the counts. */
const sessionsShownMax = 500;

/** Phases of a session that has a node. */
const placedPhases: readonly GameSessionPhase[] = ["Preparing", "Starting", "Running", "Stopping"];

/** Sources of the figures. */
interface ClusterFiguresDeps extends GameNodeGaugesDeps {
  cluster: Pick<Cluster, "gameSessions" | "gameNodes" | "gameCaches">;
  launchSteps: Pick<LaunchSteps, "secondsOf">;
  savesWaiting: Pick<SavesWaiting, "secondsOf">;
  registry: Registry;
}

/**
 * Registers gauges that are computed from the operator's caches on each scrape, without requests or writes.
 * Every replica has the caches, but only the leader shows them: call this when leading.
 */
export function showClusterFigures(deps: ClusterFiguresDeps): void {
  const { cluster } = deps;
  const unfinished = oncePerScrape(() =>
    cluster.gameSessions.list().filter((session) => !isFinished(session)),
  );
  gameNodeGauges(deps);
  showSessions(deps, unfinished);
  showSavesWaiting(deps);
  showSingleSessions(deps, unfinished);
  showGameCaches(deps);
}

/**
 * Returns a function that computes its value once per scrape for all gauges. They are collected one after
 * another, before any other task runs.
 */
function oncePerScrape<Value>(compute: () => Value): () => Value {
  let last: { value: Value } | undefined;
  return () => {
    if (last === undefined) {
      last = { value: compute() };
      queueMicrotask(() => {
        last = undefined;
      });
    }
    return last.value;
  };
}

function showSessions(
  { cluster, registry }: ClusterFiguresDeps,
  unfinished: () => readonly Stored<GameSession>[],
): void {
  new Gauge({
    name: "joypod_sessions",
    help: "Sessions that have not ended, by phase and node; node is empty until one is assigned.",
    labelNames: ["phase", "node"],
    registers: [registry],
    collect() {
      this.reset();
      this.set({ phase: "Pending", node: "" }, 0);
      for (const {
        metadata: { name: node },
      } of cluster.gameNodes.list())
        for (const phase of placedPhases) this.set({ phase, node }, 0);
      for (const session of unfinished())
        this.inc({ phase: phaseOf(session), node: session.status?.nodeName ?? "" });
    },
  });
}

function showSavesWaiting({ cluster, savesWaiting, registry }: ClusterFiguresDeps): void {
  const waiting = oncePerScrape(() => {
    const byNode = new Map(
      cluster.gameNodes.list().map(({ metadata }) => [metadata.name, { count: 0, oldestSeconds: 0 }]),
    );
    for (const session of cluster.gameSessions.list().filter(isSavePending)) {
      const nodeName = session.status?.nodeName ?? "";
      const { count, oldestSeconds } = byNode.get(nodeName) ?? { count: 0, oldestSeconds: 0 };
      byNode.set(nodeName, {
        count: count + 1,
        oldestSeconds: Math.max(oldestSeconds, savesWaiting.secondsOf(keyOf(session))),
      });
    }
    return byNode;
  });
  new Gauge({
    name: "joypod_saves_waiting",
    help: "Ended sessions whose last save exists only on their node.",
    labelNames: ["node"],
    registers: [registry],
    collect() {
      this.reset();
      for (const [node, { count }] of waiting()) this.set({ node }, count);
    },
  });
  new Gauge({
    name: "joypod_saves_waiting_oldest_seconds",
    help: "Longest time in seconds that an ended session's last save has existed only on the node, since this operator first saw it; 0 if there is none.",
    labelNames: ["node"],
    registers: [registry],
    collect() {
      this.reset();
      for (const [node, { oldestSeconds }] of waiting()) this.set({ node }, oldestSeconds);
    },
  });
}

function showSingleSessions(
  { launchSteps, registry }: ClusterFiguresDeps,
  unfinished: () => readonly Stored<GameSession>[],
): void {
  const shown = () => unfinished().slice(0, sessionsShownMax);
  new Gauge({
    name: "joypod_session_info",
    help: `1 for each session that has not ended, for up to ${sessionsShownMax} sessions.`,
    labelNames: ["session", "phase", "node", "game"],
    registers: [registry],
    collect() {
      this.reset();
      for (const session of shown()) {
        const {
          metadata: { name },
          spec: { gameCacheRef },
          status,
        } = session;
        this.set(
          { session: name, phase: phaseOf(session), node: status?.nodeName ?? "", game: gameCacheRef.name },
          1,
        );
      }
    },
  });
  new Gauge({
    name: "joypod_session_launch_stage_seconds",
    help: `Time in seconds that the launch of a session spent in each completed step, for up to ${sessionsShownMax} sessions that have not ended.`,
    labelNames: ["session", "stage"],
    registers: [registry],
    collect() {
      this.reset();
      for (const session of shown()) {
        for (const [step, seconds] of Object.entries(launchSteps.secondsOf(keyOf(session))))
          this.set({ session: session.metadata.name, stage: step }, seconds);
      }
    },
  });
}

function showGameCaches({ cluster, registry }: ClusterFiguresDeps): void {
  new Gauge({
    name: "joypod_game_cache_nodes",
    help: "Copies of current game versions that nodes should hold, summed over all games, by state.",
    labelNames: ["state"],
    registers: [registry],
    collect() {
      const statuses = cluster.gameCaches.list().map(({ status }) => status);
      for (const [state, field] of [
        ["cached", "cachedNodes"],
        ["pending", "pendingNodes"],
        ["failed", "failedNodes"],
      ] as const) {
        this.set(
          { state },
          statuses.reduce((sum, status) => sum + (status?.[field] ?? 0), 0),
        );
      }
    },
  });
}

function phaseOf({ status }: GameSession): GameSessionPhase {
  return status?.phase ?? "Pending";
}

/** Sources of the game node gauges. */
interface GameNodeGaugesDeps {
  cluster: Pick<Cluster, "gameNodes">;
  nodeLosses: Pick<NodeLosses, "isSilent">;
  /** Load by sessions. GameNodes report it some seconds late. */
  loads: Pick<NodeLoads, "on">;
  registry: Registry;
}

/** Shows the capacity, health and conditions of each game node. */
function gameNodeGauges({ cluster, nodeLosses, loads, registry }: GameNodeGaugesDeps): void {
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
    "Capacity slots of the game node.",
    ({ status }) => status?.capacity?.slots ?? 0,
  );
  byNode("joypod_game_node_slots_used", "Capacity slots used by sessions.", used);
  byNode(
    "joypod_game_node_slots_free",
    "Capacity slots available to launches; 0 if the game node accepts no new sessions.",
    (gameNode) => freeSlots(gameNode, used(gameNode)),
  );
  byNode("joypod_game_node_schedulable", "1 if the game node accepts new sessions, 0 if not.", ({ status }) =>
    Number(status?.capacity?.schedulable === true),
  );
  byNode(
    "joypod_game_node_silent",
    "1 while neither the kubelet nor the node agent reports, 0 otherwise.",
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
    help: "1 for a GameNode condition that is True, 0 for one that is False; absent if the condition is Unknown.",
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

/** Dependencies of SavesWaiting. */
interface SavesWaitingDeps {
  gameSessions: CacheReader<GameSession>;
  clock: Pick<Clock, "monotonicMs">;
}

/**
 * Tracks how long each finished session's last save has waited on its node, by this process's clock, because
 * the time of the end in the status comes from the clock of an earlier leader. Standbys track saves too, so
 * the ages survive a change of leader. Sessions that finished before this process started count from its
 * start.
 */
export class SavesWaiting {
  readonly #clock: SavesWaitingDeps["clock"];
  /** When each save was first seen waiting, by session key. */
  readonly #sinceMs = new Map<string, number>();

  constructor({ gameSessions, clock }: SavesWaitingDeps) {
    this.#clock = clock;
    gameSessions.subscribe(({ type, object }) => {
      const key = keyOf(object);
      if (type === "deleted" || !isSavePending(object)) this.#sinceMs.delete(key);
      else if (!this.#sinceMs.has(key)) this.#sinceMs.set(key, clock.monotonicMs());
    });
  }

  /** Returns how long the session's save has waited. 0 if it does not wait. */
  secondsOf(key: string): number {
    const sinceMs = this.#sinceMs.get(key);
    return sinceMs === undefined ? 0 : (this.#clock.monotonicMs() - sinceMs) / 1000;
  }
}
