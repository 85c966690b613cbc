import { memoryLimitOf, type GameSession, type SessionUsage } from "#contracts/crd/gameSession.ts";
import type { Node, Pod } from "#kube/api/builtin.ts";
import type { Stored } from "#kube/api/object.ts";
import { parseQuantity } from "#kube/api/quantity.ts";
import { containerNames } from "#contracts/nodeLayout.ts";
import { gameTerminationReport, gameTerminated } from "../../sessionPods/podState.ts";

/** The kubelet cuts its times off to whole seconds. */
const clockGrainMs = 1_000;
/** Processors of a node that is gone: as many as a session can ask for. */
const mostProcessors = 64;

/** Where a session ran. */
export interface UsagePlace {
  pod: Stored<Pod> | undefined;
  /** The pod's node, while the cluster has it. */
  node: Node | undefined;
}

/**
 * Returns what the session used, by its containers' termination reports; undefined when there is none, as on
 * a lost node. The game's processes can write the game's report, so each figure is limited to what its
 * container could have used.
 */
export function usageOf(
  { spec, status }: GameSession,
  { pod, node }: UsagePlace,
  endedAt: Date,
): SessionUsage | undefined {
  const report = pod && gameTerminationReport(pod);
  if (!pod || !report) return status?.usage;
  const ended = gameTerminated(pod);
  const end = ended?.finishedAt ?? endedAt.toISOString();
  const wallMs =
    Date.parse(end) - Date.parse(ended?.startedAt ?? pod.metadata.creationTimestamp) + clockGrainMs;
  return {
    durationSeconds: Math.round(playedMs(status, end, ended) / 100) / 10,
    cpuSeconds: Math.min(report.cpuSeconds, Math.max(0, (wallMs / 1_000) * processorsOf(pod, node))),
    peakMemoryBytes: Math.min(report.peakMemoryBytes, memoryLimitOf(spec.resources) + spec.saveVolumeBytes),
  };
}

/**
 * Returns how long the session could be played. It was ready by the operator's clock, and ended by the
 * node's, which may be minutes off. Each of them is right about what lies between times of its own: the
 * game's container began before the session was ready, and no earlier than it was launched.
 */
function playedMs(
  status: GameSession["status"],
  end: string,
  ended: ReturnType<typeof gameTerminated>,
): number {
  if (status?.readyAt === undefined) return 0;
  const between = (from: string, to: string): number => Date.parse(to) - Date.parse(from);
  const playedMs = between(status.readyAt, end);
  // The API server has null for a time that the kubelet did not give.
  const ranMs = Math.max(0, between(ended?.startedAt ?? "", ended?.finishedAt ?? "")) + clockGrainMs;
  const launchMs = between(status.startedAt ?? "", status.readyAt);
  if (Number.isNaN(ranMs) || Number.isNaN(launchMs)) return Math.max(0, playedMs);
  const leastMs = Math.max(0, ranMs - 2 * clockGrainMs - launchMs);
  return Math.min(ranMs, Math.max(leastMs, playedMs));
}

/**
 * Returns the processors that the game's container can have kept busy: those of its limit, else all of the
 * node's.
 */
function processorsOf({ spec }: Pod, node: Node | undefined): number {
  const limit = spec?.containers.find(({ name }) => name === containerNames.game)?.resources?.limits?.cpu;
  return parseQuantity(limit) ?? parseQuantity(node?.status?.capacity?.cpu) ?? mostProcessors;
}
