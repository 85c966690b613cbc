import type { GameSession } from "#contracts/crd/gameSession.ts";
import type { Pod } from "#kube/api/builtin.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { EventSink } from "#kube/controllers/eventRecorder.ts";
import type { Step as PassStep } from "#kube/controllers/reconciler.ts";
import type { Logger } from "#runtime/logger.ts";
import type { ResourceClient } from "#kube/client/resourceClient.ts";
import type { Cluster } from "../../../cluster/cluster.ts";
import type { Config } from "../../../config.ts";
import type { OperatorMetrics } from "../../../metrics.ts";
import type { NetworkProbe } from "../../../networkProbe/networkProbe.ts";
import type { Heartbeats } from "../../../nodes/nodeHealth.ts";
import type { NodeLosses } from "../../../nodes/nodeLosses.ts";
import type { OperatorTickets } from "../../../streamers/askStreamer.ts";
import type { InputIdleness } from "../../../streamers/inputIdleness.ts";
import type { Assignments } from "../assignments.ts";
import type { Moments } from "../moments.ts";
import type { StopCause } from "../stopCauses.ts";
import type { StatusDraft } from "../statusDraft.ts";
import type { Streams } from "../streams.ts";
import type { SessionWorld } from "../world.ts";

/** Dependencies of the session controller. */
export interface SessionDeps {
  cluster: Cluster;
  sessions: ResourceClient<GameSession>;
  pods: ResourceClient<Pod>;
  assignments: Assignments;
  streams: Streams;
  inputIdleness: InputIdleness;
  tickets: Pick<OperatorTickets, "publicKey">;
  networkProbe: NetworkProbe;
  heartbeats: Heartbeats;
  nodeLosses: NodeLosses;
  moments: Moments;
  events: EventSink;
  config: Pick<Config, "sessionPod" | "timing" | "announceAddresses">;
  clock: Clock;
  metrics: OperatorMetrics;
}

/** Inputs of a step. */
export interface StepContext {
  world: SessionWorld;
  draft: StatusDraft;
  /** The cause of the stop. Undefined for a session that continues. */
  cause: StopCause | undefined;
  deps: SessionDeps;
  signal: AbortSignal;
  logger: Logger;
}

export type Step = PassStep<StepContext>;
