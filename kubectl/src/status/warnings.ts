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

/** A stop that takes longer than this waits for something: the operator itself gives a silent node 45 s. */
const slowStopSeconds = 90;

/**
 * Returns what an admin should look at, in sentences that say what it is about and what to type; none when
 * everything is healthy.
 */
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
            `Game ${name}: ${status?.failedNodes ?? 0} nodes could not fetch it: \`kubectl joypod cache\` tells why.`,
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
        `${workload.metadata.name}: ${readyOf(workload).ready} of ${readyOf(workload).wanted} are ready.`,
    );
  const waiting = [...programPods, ...sessionPods].flatMap((pod) =>
    podTroubles(pod).map(
      (trouble) =>
        `Pod ${pod.metadata.namespace ?? ""}/${pod.metadata.name}: ${trouble}: \`kubectl -n ${pod.metadata.namespace ?? ""} describe pod ${pod.metadata.name}\`.`,
    ),
  );
  return [...incomplete, ...waiting];
}

/** Reasons for which a container waits that do not pass by themselves. */
const troubles = new Set([
  "CrashLoopBackOff",
  "ImagePullBackOff",
  "ErrImagePull",
  "ErrImageNeverPull",
  "InvalidImageName",
  "CreateContainerConfigError",
  "CreateContainerError",
  "RunContainerError",
]);

function podTroubles({ status }: Pod): string[] {
  const containers = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return containers.flatMap(({ name, image, state }) => {
    const reason = state?.waiting?.reason;
    if (reason === undefined || !troubles.has(reason)) return [];
    return [`${name} waits (${reason}${/Image/.test(reason) ? `, ${image}` : ""})`];
  });
}

function leaderWarnings(held: readonly Lease[], now: Date): string[] {
  return programsWithLeaders.flatMap((program) => {
    const lease = leaseOf(program, held);
    if (isHeld(lease, now)) return [];
    return [
      `No ${program} leads${lease?.spec?.renewTime === undefined ? "" : ` since ${ageText(lease.spec.renewTime, now) ?? ""}`}: ${program === "operator" ? "sessions neither start nor end" : "nothing is recorded or swept"}.`,
    ];
  });
}

/** The programs of which one replica leads. */
export const programsWithLeaders = ["operator", "api"] as const;

/** Returns the lease by which a program's leader is chosen. */
export function leaseOf(program: keyof typeof leaderLeases, leases: readonly Lease[]): Lease | undefined {
  return leases.find(({ metadata }) => metadata.name === leaderLeases[program]);
}

/** Returns whether somebody holds the lease and has renewed it in time. */
export function isHeld(lease: Lease | undefined, now: Date): boolean {
  const { holderIdentity, renewTime, leaseDurationSeconds = 15 } = lease?.spec ?? {};
  if (holderIdentity === undefined || holderIdentity === "" || renewTime === undefined) return false;
  return now.getTime() - Date.parse(renewTime) < (leaseDurationSeconds + 10) * 1000;
}

/** The conditions that are a fault when they have this status. */
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
    return ["There is no game node: label one as the chart value gameNodes.selector says."];
  const open = nodes.filter(({ status }) => status?.capacity?.schedulable === true);
  if (open.length === 0) return ["No game node takes sessions: `kubectl joypod nodes` tells why."];
  const isFull = open.every(({ status }) => (status?.capacity?.used ?? 0) >= (status?.capacity?.slots ?? 0));
  return isFull ? ["All slots are taken: further launches get 503."] : [];
}

function sessionWarnings(session: GameSession, now: Date): string[] {
  const {
    metadata: { name, creationTimestamp = now.toISOString() },
    spec,
    status,
  } = session;
  const secondsSince = (moment: string): number => (now.getTime() - Date.parse(moment)) / 1000;
  const look = `\`kubectl joypod session ${name}\``;
  if (isFinished(session)) return endWarnings(session, now);
  if (status?.stoppingAt !== undefined) {
    return secondsSince(status.stoppingAt) > slowStopSeconds
      ? [`Session ${name} has been stopping for ${ageText(status.stoppingAt, now) ?? ""}: ${look}.`]
      : [];
  }
  if (conditionStatus(session, "Ready") === "True") return [];
  const begun = status?.startedAt ?? creationTimestamp;
  return secondsSince(begun) > spec.startDeadlineSeconds / 2
    ? [`Session ${name} has been starting for ${ageText(begun, now) ?? ""}: ${look}.`]
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
      ? `its last save still lies on ${status?.nodeName ?? "its node"}: \`kubectl joypod session ${name}\`.`
      : undefined;
  if (status?.failure === undefined)
    return where === undefined ? [] : [`Session ${name} has ended, and ${where}`];
  if (isSaveLate(session)) return [];
  const failed = `Session ${name} failed (${status.failure.reason}): ${status.failure.message}`;
  return [where === undefined ? failed : `${failed} By now ${where}`];
}
