import { Gauge, type Registry } from "prom-client";
import type { GameSession, GameSessionPhase } from "#contracts/crd/gameSession.ts";
import { isFinished, isSavePending } from "#contracts/crd/sessionConditions.ts";
import { keyOf, type Stored } from "#kube/api/object.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { gameNodeGauges, type GameNodeGaugesDeps } from "./gameNodeGauges.ts";
import type { LaunchSteps } from "./launchSteps.ts";
import type { SavesWaiting } from "./savesWaiting.ts";

/** Sessions that are shown one by one; the rest are counted. */
const sessionsShownMax = 500;

/** Phases of a session that has a node. */
const placedPhases: readonly GameSessionPhase[] = ["Preparing", "Starting", "Running", "Stopping"];

/** What the figures are read from. */
export interface ClusterFiguresDeps extends GameNodeGaugesDeps {
  cluster: Pick<Cluster, "gameSessions" | "gameNodes" | "gameCaches">;
  launchSteps: Pick<LaunchSteps, "secondsOf">;
  savesWaiting: Pick<SavesWaiting, "secondsOf">;
  registry: Registry;
}

/**
 * Shows what the operator's copy of the cluster says, as gauges that are read at each look of Prometheus:
 * without a request, and without a write. Every replica has that copy, and the one that leads shows it: begin
 * it there.
 */
export function showClusterFigures(deps: ClusterFiguresDeps): void {
  const { cluster } = deps;
  const unfinished = oncePerLook(() => cluster.gameSessions.list().filter((session) => !isFinished(session)));
  gameNodeGauges(deps);
  showSessions(deps, unfinished);
  showSavesWaiting(deps);
  showSingleSessions(deps, unfinished);
  showGameCaches(deps);
}

/**
 * Returns a function that computes once for all gauges of one look: they are collected one after the other,
 * before any other task runs.
 */
function oncePerLook<Value>(compute: () => Value): () => Value {
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
    help: "Sessions that have not ended, by phase and node; the node is empty before there is one.",
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
  const waiting = oncePerLook(() => {
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
    help: "Sessions that have ended and whose last save is on their node alone.",
    labelNames: ["node"],
    registers: [registry],
    collect() {
      this.reset();
      for (const [node, { count }] of waiting()) this.set({ node }, count);
    },
  });
  new Gauge({
    name: "joypod_saves_waiting_oldest_seconds",
    help: "Time since this operator saw the end of the session whose last save has waited on its node for the longest; 0 when none waits.",
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
    help: `1 for each session that has not ended, ${sessionsShownMax} at most.`,
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
    help: "Time that the launch of a session which has not ended took in each step.",
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
    help: "Copies of games' current versions that nodes shall hold, of all games together, by how far they are.",
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
