import { gameNodeChecks, type GameNode } from "#contracts/crd/gameNode.ts";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import { leaderLeases } from "#contracts/crd/names.ts";
import { conditionStatus, isFinished, isSavePending } from "#contracts/crd/sessionState.ts";
import type { Lease, Pod } from "#kube/api/builtin.ts";
import { findCondition } from "#kube/api/conditions.ts";
import { ageText } from "../output.ts";
import type { Observed } from "../cluster/observe.ts";
import { isSaveLate } from "../session/sessionState.ts";
import { readyOf } from "../cluster/workloads.ts";

/** A stop normally takes less time: the operator waits 45 s for a silent node. */
const slowStopSeconds = 90;

/** Returns problems for an admin to look at, with the command to run; empty if everything is healthy. */
export function warningsOf(observed: Observed, now: Date): string[] {
  return [
    ...componentWarnings(observed),
    ...leaderWarnings(observed.leases, now),
    ...observed.nodes.flatMap(nodeWarnings),
    ...capacityWarnings(observed.nodes),
    ...observed.sessions.flatMap((session) => sessionWarnings(session, now)),
    ...observed.caches.flatMap(({ metadata: { name }, status }) =>
      (status?.failedNodes ?? 0) === 0
        ? []
        : [
            `Game ${name}: ${status?.failedNodes ?? 0} nodes could not fetch it. Run \`kubectl joypod cache\` for the reason.`,
          ],
    ),
    ...(observed.stores.state === "unready" ? [`Stores: ${observed.stores.message}`] : []),
  ];
}

function componentWarnings({ workloads, programPods, sessionPods }: Observed): string[] {
  const incomplete = workloads
    .filter((workload) => readyOf(workload).ready < readyOf(workload).wanted)
    .map(
      (workload) =>
        `${workload.metadata.name}: ${readyOf(workload).ready} of ${readyOf(workload).wanted} pods are ready.`,
    );
  const waiting = [...programPods, ...sessionPods].flatMap((pod) =>
    podFaults(pod).map(
      (fault) =>
        `Pod ${pod.metadata.namespace ?? ""}/${pod.metadata.name}: ${fault}. Run \`kubectl -n ${pod.metadata.namespace ?? ""} describe pod ${pod.metadata.name}\`.`,
    ),
  );
  return [...incomplete, ...waiting];
}

/** Waiting reasons that need an admin. */
const waitingReasons = new Set([
  "CrashLoopBackOff",
  "ImagePullBackOff",
  "ErrImagePull",
  "ErrImageNeverPull",
  "InvalidImageName",
  "CreateContainerConfigError",
  "CreateContainerError",
  "RunContainerError",
]);

function podFaults({ status }: Pod): string[] {
  const containers = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return containers.flatMap(({ name, image, state }) => {
    const reason = state?.waiting?.reason;
    if (reason === undefined || !waitingReasons.has(reason)) return [];
    return [`container ${name} is waiting (${reason}${/Image/.test(reason) ? `, ${image}` : ""})`];
  });
}

function leaderWarnings(held: readonly Lease[], now: Date): string[] {
  return programsWithLeaders.flatMap((program) => {
    const lease = leaseOf(program, held);
    if (isHeld(lease, now)) return [];
    return [
      `${program} has had no leader${lease?.spec?.renewTime === undefined ? "" : ` for ${ageText(lease.spec.renewTime, now) ?? ""}`}: ${program === "operator" ? "sessions neither start nor end" : "results are not recorded and nothing is cleaned up"}.`,
    ];
  });
}

/** Programs with leader election. */
export const programsWithLeaders = ["operator", "api"] as const;

/** Returns the leader election Lease of a program. */
export function leaseOf(program: keyof typeof leaderLeases, leases: readonly Lease[]): Lease | undefined {
  return leases.find(({ metadata }) => metadata.name === leaderLeases[program]);
}

/** Returns whether the Lease is held and was renewed in time. */
export function isHeld(lease: Lease | undefined, now: Date): boolean {
  const { holderIdentity, renewTime, leaseDurationSeconds = 15 } = lease?.spec ?? {};
  if (holderIdentity === undefined || holderIdentity === "" || renewTime === undefined) return false;
  return now.getTime() - Date.parse(renewTime) < (leaseDurationSeconds + 10) * 1000;
}

/** The status of each condition that indicates a fault. */
const faults = {
  Ready: "False",
  Lost: "True",
  Draining: "True",
  GpuNotShared: "True",
  StoreReachable: "False",
  DiskPressure: "True",
  SessionsSetAside: "True",
  ...Object.fromEntries(gameNodeChecks.map((check) => [check, "False"] as const)),
};

function nodeWarnings({ metadata: { name }, status }: GameNode): string[] {
  return Object.entries(faults).flatMap(([type, fault]) => {
    const condition = findCondition(status?.conditions, type);
    return condition?.status === fault
      ? [
          `Node ${name}: ${type} is ${fault} (${condition.reason})${condition.message === "" ? "" : `: ${condition.message}`}`,
        ]
      : [];
  });
}

function capacityWarnings(nodes: readonly GameNode[]): string[] {
  if (nodes.length === 0)
    return ["There are no game nodes. Label a node to match the chart value gameNodes.selector."];
  const open = nodes.filter(({ status }) => status?.capacity?.schedulable === true);
  if (open.length === 0)
    return ["No game node accepts sessions. Run `kubectl joypod nodes` for the reasons."];
  const isFull = open.every(({ status }) => (status?.capacity?.used ?? 0) >= (status?.capacity?.slots ?? 0));
  return isFull
    ? ["All slots are in use. New launches wait in the queue, or fail with 503 without one."]
    : [];
}

function sessionWarnings(session: GameSession, now: Date): string[] {
  const {
    metadata: { name, creationTimestamp = now.toISOString() },
    spec,
    status,
  } = session;
  const secondsSince = (moment: string): number => (now.getTime() - Date.parse(moment)) / 1000;
  const inspect = `\`kubectl joypod session ${name}\``;
  if (isFinished(session)) return endWarnings(session, now);
  if (status?.stoppingAt !== undefined) {
    return secondsSince(status.stoppingAt) > slowStopSeconds
      ? [`Session ${name} has been stopping for ${ageText(status.stoppingAt, now) ?? ""}. Run ${inspect}.`]
      : [];
  }
  if (conditionStatus(session, "Ready") === "True") return [];
  const begun = status?.startedAt ?? creationTimestamp;
  return secondsSince(begun) > spec.startDeadlineSeconds / 2
    ? [`Session ${name} has been starting for ${ageText(begun, now) ?? ""}. Run ${inspect}.`]
    : [];
}

function endWarnings(session: GameSession, now: Date): string[] {
  const {
    metadata: { name, creationTimestamp },
    status,
  } = session;
  const endedSeconds =
    (now.getTime() - Date.parse(status?.finishedAt ?? creationTimestamp ?? now.toISOString())) / 1000;
  const where =
    isSavePending(session) && endedSeconds > slowStopSeconds
      ? `its last save is still on ${status?.nodeName ?? "its node"}. Run \`kubectl joypod session ${name}\`.`
      : undefined;
  if (status?.failure === undefined)
    return where === undefined ? [] : [`Session ${name} has ended, but ${where}`];
  if (isSaveLate(session)) return [];
  const failed = `Session ${name} failed (${status.failure.reason}): ${status.failure.message}`;
  return [where === undefined ? failed : `${failed} Currently ${where}`];
}
