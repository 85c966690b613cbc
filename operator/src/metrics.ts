import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { GameEnd } from "#contracts/crd/gameSession.ts";
import { StopReason } from "#contracts/crd/gameSessionSpec.ts";
import { measuredLaunchSteps } from "#contracts/crd/launchStep.ts";
import { failureReasons } from "#contracts/crd/gameSessionReasons.ts";
import { RenderingObstacle } from "#contracts/stream.ts";

/** The operator's counters of session events. */
export interface OperatorMetrics {
  /** Seconds from a session's creation to its first Ready. */
  sessionReady(seconds: number): void;
  /** Seconds that a launch spent in a step, counted when the step is complete. */
  launchStepDone(step: string, seconds: number): void;
  /** Counts a session that failed in this step of its launch, before it was ever ready. */
  launchFailed(step: string, reason: string): void;
  /** Counts a session that ended for this reason. */
  sessionFinished(reason: string): void;
  /** Counts a game that was ended by this: Itself, CloseRequest, Sigterm or Sigkill. */
  gameEnded(endedBy: GameEnd["endedBy"]): void;
  /** Counts a session in which this folder was full. */
  folderFull(folder: NonNullable<GameEnd["fullFolders"]>[number]): void;
  /** Counts a session that requested a GPU but renders in software for this reason. */
  sessionUnaccelerated(reason: string): void;
  /** Whether silent game nodes are not declared lost because too many are silent. */
  nodeLossBraked(isBraked: boolean): void;
  /** Whether the probe found that the cluster enforces NetworkPolicies. */
  networkPoliciesEnforced(isEnforced: boolean): void;
  /** Number of relays that received the game nodes on the last attempt, and of those that did not. */
  relaysTold(counts: { told: number; untold: number }): void;
}

/**
 * Creates the operator's metrics in the registry served at /metrics. Counters with known reasons start at 0,
 * so that the first event is visible as an increase.
 */
export function createOperatorMetrics(registry: Registry): OperatorMetrics {
  const ready = new Histogram({
    name: "joypod_session_start_seconds",
    help: "Time from the creation of a session until its stream is ready, in seconds.",
    buckets: [0.5, 1, 2, 3, 5, 8, 13, 20, 30, 60, 120],
    registers: [registry],
  });
  const steps = new Histogram({
    name: "joypod_launch_stage_seconds",
    help: "Time that launches spent in each step, in seconds.",
    labelNames: ["stage"],
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 8, 13, 20, 30, 60, 120, 300],
    registers: [registry],
  });
  for (const step of measuredLaunchSteps) steps.zero({ stage: step });
  const failedLaunches = new Counter({
    name: "joypod_launches_failed_total",
    help: "Sessions that failed before they were ready, by launch step and reason.",
    labelNames: ["stage", "reason"],
    registers: [registry],
  });
  const finished = new Counter({
    name: "joypod_sessions_finished_total",
    help: "Sessions that have ended, by reason.",
    labelNames: ["reason"],
    registers: [registry],
  });
  const gamesEnded = new Counter({
    name: "joypod_games_ended_total",
    help: "Games that have ended, by what ended them. After Sigkill the last save may be incomplete.",
    labelNames: ["by"],
    registers: [registry],
  });
  for (const by of GameEnd.shape.endedBy.options) gamesEnded.inc({ by }, 0);
  const foldersFull = new Counter({
    name: "joypod_session_folders_full_total",
    help: "Sessions in which a folder of the game was full, by folder: Home, Tmp or Shm.",
    labelNames: ["folder"],
    registers: [registry],
  });
  for (const folder of ["Home", "Tmp", "Shm"]) foldersFull.inc({ folder }, 0);
  const unaccelerated = new Counter({
    name: "joypod_sessions_unaccelerated_total",
    help: "Sessions that requested a GPU but render in software, by reason.",
    labelNames: ["reason"],
    registers: [registry],
  });
  const braked = new Gauge({
    name: "joypod_operator_node_loss_brake",
    help: "1 while too many game nodes are silent at once for any to be declared lost, 0 otherwise.",
    registers: [registry],
  });
  for (const reason of [...StopReason.options, ...Object.values(failureReasons)]) finished.inc({ reason }, 0);
  for (const reason of Object.values(failureReasons))
    for (const step of measuredLaunchSteps) failedLaunches.inc({ stage: step, reason }, 0);
  for (const reason of RenderingObstacle.options) unaccelerated.inc({ reason }, 0);
  // Created with their first value. Until then the result is unknown or there is no relay, and 0 would be
  // wrong.
  let relays: Gauge<"state"> | undefined;
  let enforced: Gauge | undefined;
  return {
    sessionReady: (seconds) => ready.observe(seconds),
    launchStepDone: (step, seconds) => steps.observe({ stage: step }, seconds),
    launchFailed: (step, reason) => failedLaunches.inc({ stage: step, reason }),
    sessionFinished: (reason) => finished.inc({ reason }),
    gameEnded: (by) => gamesEnded.inc({ by }),
    folderFull: (folder) => foldersFull.inc({ folder }),
    sessionUnaccelerated: (reason) => unaccelerated.inc({ reason }),
    nodeLossBraked: (isBraked) => braked.set(isBraked ? 1 : 0),
    networkPoliciesEnforced: (isEnforced) => {
      enforced ??= new Gauge({
        name: "joypod_operator_network_policies_enforced",
        help: "1 if NetworkPolicies were found to restrict session pods, 0 if not; absent if this is not probed.",
        registers: [registry],
      });
      enforced.set(isEnforced ? 1 : 0);
    },
    relaysTold: ({ told, untold }) => {
      relays ??= new Gauge({
        name: "joypod_relays",
        help: "Relays, by whether the last update of game node addresses reached them; absent if there is no relay.",
        labelNames: ["state"],
        registers: [registry],
      });
      relays.set({ state: "told" }, told);
      relays.set({ state: "untold" }, untold);
    },
  };
}
