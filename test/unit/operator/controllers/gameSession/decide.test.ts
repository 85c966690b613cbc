import { expect } from "chai";
import type { GameSessionSpec, GameSessionStatus } from "#contracts/crd/gameSession.ts";
import type { Pod } from "#kube/builtin.ts";
import type { Stored } from "#kube/object.ts";
import { aCondition, aGameSession, after, aPlacedStatus, aRunningStatus, createdAt } from "#test/factories/gameSession.ts";
import { aTerminationReport, aSessionPod, containerStatus, ended, running } from "#test/factories/sessionPod.ts";
import { planFor } from "#operator/controllers/gameSession/decide.ts";
import type { SessionWorld } from "#operator/controllers/gameSession/world.ts";

interface Given {
  now?: Date;
  spec?: Partial<GameSessionSpec>;
  metadata?: { deletionTimestamp?: string };
  status?: GameSessionStatus;
  pod?: Parameters<typeof aSessionPod>[1] | Stored<Pod>;
  nodeHealth?: SessionWorld["nodeHealth"];
  isContentCached?: boolean;
  internet?: SessionWorld["internet"];
}

function worldOf({ now = after(10), spec = {}, metadata = {}, status, pod, nodeHealth = "Well", isContentCached = false, internet = "NotAllowed" }: Given): SessionWorld {
  const session = aGameSession({ spec, metadata, ...(status === undefined ? {} : { status }) });
  const stored = pod === undefined ? undefined : "kind" in pod ? pod : aSessionPod(session, pod);
  return { now, session, pod: stored, isContentCached, isPlayable: false, nodeHealth, internet, timing: { unschedulableMs: 10_000, saveGiveUpMs: 600_000 } };
}

const internet = { network: "Internet" } as const;
const stopped = { desiredState: "Stopped", stopReason: "UserRequested" } as const;
const contentReady = [aCondition("Scheduled"), aCondition("ContentReady"), aCondition("SaveRestored")];
const full = aCondition("ContentReady", { status: "False", reason: "InsufficientSpace" });
const refused = aCondition("ContentReady", { status: "False", reason: "ArchiveRefused" });
const noStore = aCondition("SaveRestored", { status: "False", reason: "StoreUnreachable" });
const badSave = aCondition("SaveRestored", { status: "False", reason: "SaveMissing" });
const pending = { phase: "Pending" };
const unschedulable = (message: string) => ({
  ...pending, conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message, lastTransitionTime: createdAt }],
});
const toEnd = ["recordStopping", "deletePod", "awaitGameEnd", "awaitSave", "finish"];

describe("planFor", () => {
  const cases: [string, Given, string[], string?][] = [
    ["a new session is placed", {}, ["addFinalizer", "assignNode"]],
    ["a placed one waits for its files", { status: aPlacedStatus() }, ["awaitContent"]],
    ["with files it gets its pod, which restores the save", { status: aPlacedStatus({ conditions: [aCondition("ContentReady")] }) }, ["createPod", "reportReadiness"]],
    ["where the files are unpacked it gets its pod ahead of the save", { status: aPlacedStatus(), isContentCached: true }, ["createPod", "reportReadiness"]],
    ["a pod made ahead waits for the save", { status: aPlacedStatus(), pod: {}, isContentCached: true }, ["createPod", "reportReadiness"]],
    ["a pod made ahead stays when the node no longer lists the files", { status: aPlacedStatus(), pod: {} }, ["createPod", "reportReadiness"]],
    ["with both it gets its pod", { status: aPlacedStatus({ conditions: contentReady }) }, ["createPod", "reportReadiness"]],
    ["a pod that runs is reported", { status: aPlacedStatus({ conditions: contentReady }), pod: {} }, ["createPod", "reportReadiness"]],
    ["a running session is watched", { status: aRunningStatus(), pod: {} }, ["createPod", "reportReadiness"]],

    ["a late download moves to another node", { status: aPlacedStatus(), now: after(60) }, ["moveToAnotherNode"]],
    ["one second before, it does not", { status: aPlacedStatus(), now: after(59) }, ["awaitContent"]],
    ["the second late download ends it", { status: aPlacedStatus({ placement: { attempt: 2, assignedAt: createdAt, triedNodes: ["node0"] } }), now: after(60) },
      ["finish"], "DownloadTimedOut"],
    ["a full node is left at once", { status: aPlacedStatus({ conditions: [full] }) }, ["moveToAnotherNode"]],
    ["a refused archive ends it on the second node", { status: aPlacedStatus({ conditions: [refused], placement: { attempt: 2, assignedAt: createdAt, triedNodes: ["node0"] } }) },
      ["finish"], "ArchiveRefused"],
    ["a save that cannot be restored moves a pod made ahead", { status: aPlacedStatus({ conditions: [badSave] }), pod: {}, isContentCached: true }, ["moveToAnotherNode"]],
    ["a save that nobody can restore ends it with its pod",
      { status: aPlacedStatus({ conditions: [badSave], placement: { attempt: 2, assignedAt: createdAt, triedNodes: ["node0"] } }), pod: {} }, toEnd, "SaveMissing"],
    ["a node that cannot fetch the save in time is left", { status: aPlacedStatus({ conditions: [noStore] }), pod: {}, isContentCached: true, now: after(60) }, ["moveToAnotherNode"]],
    ["a pod that takes its time to restore the save is not", { status: aPlacedStatus(), pod: {}, isContentCached: true, now: after(60) }, ["createPod", "reportReadiness"]],
    ["a lost node takes a pod made ahead with it", { status: aPlacedStatus(), pod: {}, nodeHealth: "Lost" }, ["finish"], "NodeLost"],
    ["a store that is away is waited for", { status: aPlacedStatus({ conditions: [aCondition("ContentReady", { status: "False", reason: "StoreUnreachable" })] }) }, ["awaitContent"]],
    ["no node in time ends it", { status: { startedAt: createdAt }, now: after(120) }, ["finish"], "NoCapacity"],
    ["time before an operator saw it does not count", { now: after(1000) }, ["addFinalizer", "assignNode"]],
    ["a pod that is not ready in time ends it",
      { status: aPlacedStatus({ conditions: contentReady }), pod: { status: { phase: "Pending", containerStatuses: [containerStatus("game", { waiting: { reason: "ErrImagePull" } })] } }, now: after(120) },
      toEnd, "StartTimedOut"],
    ["without pod at the start deadline it just ends", { status: aPlacedStatus({ conditions: contentReady }), now: after(120) }, ["finish"], "StartTimedOut"],

    ["a taken port is changed", { status: aPlacedStatus({ conditions: contentReady }), pod: { status: unschedulable("1 node(s) didn't have free ports"), isBound: false } }, ["changePort"]],
    ["a port refused by the kubelet is changed", { status: aPlacedStatus({ conditions: contentReady }), pod: { status: { phase: "Failed", reason: "NodePorts" } } }, ["changePort"]],
    ["a pod without room moves", { status: aPlacedStatus({ conditions: contentReady }), pod: { status: unschedulable("Insufficient nvidia.com/gpu"), isBound: false } }, ["moveToAnotherNode"]],
    ["but not at once", { status: aPlacedStatus({ conditions: contentReady }), pod: { status: unschedulable("Insufficient nvidia.com/gpu"), isBound: false }, now: after(9) }, ["createPod", "reportReadiness"]],
    ["a pod refused by the kubelet moves", { status: aPlacedStatus({ conditions: contentReady }), pod: { status: { phase: "Failed", reason: "OutOfcpu" } } }, ["moveToAnotherNode"]],
    ["the second refusal ends it",
      { status: aPlacedStatus({ conditions: contentReady, placement: { attempt: 2, assignedAt: createdAt, triedNodes: [] } }), pod: { status: { phase: "Failed", reason: "OutOfcpu" } } },
      toEnd, "PodRejected"],
    ["a pod of a former place is removed", { status: aPlacedStatus({ conditions: contentReady }), pod: { mediaPort: 20_007 } }, ["removeObsoletePod"]],
    ["so is one of a former node", { status: aPlacedStatus({ conditions: contentReady }), pod: { nodeName: "node9" } }, ["removeObsoletePod"]],

    ["internet that is not allowed ends it at once", { spec: internet }, ["finish"], "NetworkNotAllowed"],
    ["internet without policies ends it", { spec: internet, status: aPlacedStatus({ conditions: contentReady }), internet: "NotEnforced" }, ["finish"], "NetworkNotEnforced"],
    ["internet waits for the probe before its pod", { spec: internet, status: aPlacedStatus({ conditions: contentReady }), internet: "Awaited" }, ["awaitNetwork"]],
    ["and is placed meanwhile", { spec: internet, internet: "Awaited" }, ["addFinalizer", "assignNode"]],
    ["allowed internet gets its pod", { spec: internet, status: aPlacedStatus({ conditions: contentReady }), internet: "Allowed" }, ["createPod", "reportReadiness"]],
    ["a game that has the internet keeps it when the probe finds out otherwise", { spec: internet, status: aRunningStatus(), pod: {}, internet: "NotEnforced" }, ["createPod", "reportReadiness"]],
    ["a stop comes before that refusal", { spec: { ...internet, ...stopped } }, ["finish"]],

    ["a stop that was asked for", { spec: stopped, status: aRunningStatus(), pod: {} }, toEnd],
    ["a stop before the placement", { spec: stopped }, ["finish"]],
    ["a stop before the pod", { spec: stopped, status: aPlacedStatus() }, ["finish"]],
    ["a deletion is a graceful stop", { metadata: { deletionTimestamp: createdAt }, status: aRunningStatus(), pod: {} }, toEnd],
    ["an end written down goes on", { status: aRunningStatus({ stoppingAt: createdAt, stopReason: "IdleTimeout" }), pod: {} }, toEnd],
    ["idle", { status: aRunningStatus(), pod: {}, now: after(1805) }, toEnd],
    ["not idle while keepalives come", { status: aRunningStatus(), spec: { expiresAt: after(1900).toISOString() }, pod: {}, now: after(1899) }, ["createPod", "reportReadiness"]],
    ["an early expiresAt does not cut the first idle time", { status: aRunningStatus(), spec: { expiresAt: after(100).toISOString() }, pod: {}, now: after(1804) }, ["createPod", "reportReadiness"]],
    ["too long", { status: aRunningStatus(), spec: { expiresAt: after(99_999).toISOString() }, pod: {}, now: after(28_805) }, toEnd],

    ["the game ended well", { status: aRunningStatus(), pod: { status: ended(0) } }, toEnd],
    ["the game crashed", { status: aRunningStatus(), pod: { status: ended(3) } }, toEnd, "GameCrashed"],
    ["the game ended before it could be played", { status: aPlacedStatus({ conditions: contentReady }), pod: { status: ended(0) } }, toEnd, "GameEndedEarly"],
    ["the game crashed before it could be played", { status: aPlacedStatus({ conditions: contentReady }), pod: { status: ended(1) } }, toEnd, "GameCrashed"],
    ["out of memory, by the kubelet", { status: aRunningStatus(), pod: { status: ended(137, "", "OOMKilled") } }, toEnd, "OutOfMemory"],
    ["out of memory, by the account", { status: aRunningStatus(), pod: { status: ended(137, aTerminationReport({ reason: "out-of-memory", exitCode: 137 })) } }, toEnd, "OutOfMemory"],
    ["the display did not come", { status: aPlacedStatus({ conditions: contentReady }), pod: { status: ended(70, aTerminationReport({ reason: "no-display", exitCode: 70 })) } }, toEnd, "StreamerFailed"],
    ["evicted", { status: aRunningStatus(), pod: { status: { phase: "Failed", reason: "Evicted", message: "disk" } } }, toEnd, "PodEvicted"],
    ["taken by a taint", { status: aRunningStatus(), pod: { status: { ...running, conditions: [{ type: "DisruptionTarget", status: "True", message: "taint" }] }, metadata: { deletionTimestamp: createdAt } } }, toEnd, "PodEvicted"],
    ["the pod was deleted by somebody", { status: aRunningStatus(), pod: { metadata: { deletionTimestamp: createdAt } } }, toEnd, "PodDeleted"],
    ["the pod is gone", { status: aRunningStatus() }, ["recordStopping", "awaitSave", "finish"], "PodLost"],

    ["a node in doubt changes nothing", { status: aRunningStatus(), pod: {}, nodeHealth: "Doubtful" }, ["createPod", "reportReadiness"]],
    ["a lost node ends the session", { status: aRunningStatus(), pod: {}, nodeHealth: "Lost" }, ["finish"], "NodeLost"],
    ["a lost node while stopping", { spec: stopped, status: aRunningStatus(), pod: {}, nodeHealth: "Lost" }, ["finish"], "NodeLost"],
    ["a lost node after the last save", { spec: stopped, status: aRunningStatus({ conditions: [aCondition("SavePersisted")] }), pod: { status: ended(0) }, nodeHealth: "Lost" }, ["finish"]],
    ["a lost node before the pod: another one", { status: aPlacedStatus(), nodeHealth: "Lost" }, ["moveToAnotherNode"]],

    ["finished", { status: aRunningStatus({ conditions: [aCondition("Finished")] }), pod: { status: ended(0) } }, ["releasePod", "removeFinalizer", "deleteExpired"]],
    ["finished stays finished when its node is lost", { status: aRunningStatus({ conditions: [aCondition("Finished")] }), nodeHealth: "Lost" }, ["releasePod", "removeFinalizer", "deleteExpired"]],
  ];

  for (const [what, given, steps, failure] of cases) {
    it(what, () => {
      const plan = planFor(worldOf(given));
      expect(plan.steps).to.deep.equal(steps);
      expect(plan.ending?.failure?.reason).to.equal(failure);
    });
  }

  const reasons: [string, Given, string][] = [
    ["what the API asked for", { spec: { desiredState: "Stopped", stopReason: "IdleTimeout" }, status: aRunningStatus(), pod: {} }, "IdleTimeout"],
    ["a deletion", { metadata: { deletionTimestamp: createdAt }, status: aRunningStatus(), pod: {} }, "Deleted"],
    ["an idle session", { status: aRunningStatus(), pod: {}, now: after(1805) }, "IdleTimeout"],
    ["a long session", { status: aRunningStatus(), spec: { expiresAt: after(99_999).toISOString() }, pod: {}, now: after(28_805) }, "MaxDuration"],
    ["a game that ended", { status: aRunningStatus(), pod: { status: ended(0) } }, "GameExited"],
    ["what was written down first", { metadata: { deletionTimestamp: createdAt }, status: aRunningStatus({ stoppingAt: createdAt, stopReason: "MaxDuration" }), pod: {} }, "MaxDuration"],
  ];
  for (const [what, given, reason] of reasons) {
    it(`gives the reason of ${what}`, () => expect(planFor(worldOf(given)).ending?.stopReason).to.equal(reason));
  }
});
