import { expect } from "chai";
import type { GameSessionStatus } from "#contracts/crd/gameSession.ts";
import type { GameSessionSpec } from "#contracts/crd/gameSessionSpec.ts";
import type { Pod } from "#kube/api/builtin.ts";
import type { Stored } from "#kube/api/object.ts";
import {
  aCondition,
  aGameSession,
  after,
  aPlacedStatus,
  aRunningStatus,
  createdAt,
} from "#test/factories/gameSession.ts";
import {
  aTerminationReport,
  aSessionPod,
  containerStatus,
  ended,
  running,
} from "#test/factories/sessionPod.ts";
import { unschedulable } from "#operator/sessionPods/podState.ts";
import { planFor, restsOnAbsentPod } from "#operator/controllers/gameSession/decide.ts";
import type { SessionWorld } from "#operator/controllers/gameSession/world.ts";

interface Given {
  now?: Date;
  /** When the player was last heard of: the expiry was moved. */
  keptAliveAt?: Date;
  spec?: Partial<GameSessionSpec>;
  metadata?: { deletionTimestamp?: string };
  status?: GameSessionStatus;
  pod?: Parameters<typeof aSessionPod>[1] | Stored<Pod>;
  nodeHealth?: SessionWorld["nodeHealth"];
  isAgentSilent?: boolean;
  isContentCached?: boolean;
  internet?: SessionWorld["internet"];
}

function worldOf({
  now = after(10),
  keptAliveAt,
  spec = {},
  metadata = {},
  status,
  pod,
  nodeHealth = "Healthy",
  isAgentSilent = false,
  isContentCached = false,
  internet = "NotAllowed",
}: Given): SessionWorld {
  const session = aGameSession({ spec, metadata, ...(status === undefined ? {} : { status }) });
  const stored = pod === undefined ? undefined : "kind" in pod ? pod : aSessionPod(session, pod);
  const seenAtMs = {
    ...seenInTime(session, stored),
    ...(keptAliveAt === undefined ? {} : { expiresAt: keptAliveAt.getTime() }),
  };
  return {
    now,
    nowMs: now.getTime(),
    seenAtMs,
    session,
    pod: stored,
    isContentCached,
    playable: undefined,
    nodeHealth,
    isAgentSilent,
    internet,
    timing: { unschedulableMs: 10_000, saveGiveUpMs: 600_000 },
  };
}

/** Each moment is seen when it is noted, by one clock. */
function seenInTime(session: SessionWorld["session"], pod: SessionWorld["pod"]): SessionWorld["seenAtMs"] {
  const { status, metadata, spec } = session;
  const times = {
    startedAt: status?.startedAt,
    assignedAt: status?.placement?.assignedAt,
    unschedulableSince: pod && unschedulable(pod)?.since,
    readyAt: status?.readyAt,
    expiresAt: spec.expiresAt && createdAt,
    stopping: status?.stoppingAt ?? metadata.deletionTimestamp,
    finishedAt: status?.finishedAt,
  };
  return Object.fromEntries(
    Object.entries(times).flatMap(([moment, time]) =>
      time === undefined ? [] : [[moment, Date.parse(time)]],
    ),
  );
}

const internet = { network: "Internet" } as const;
const expiresAt = after(99_999).toISOString();
const stopped = { desiredState: "Stopped", stopReason: "UserRequested" } as const;
const contentReady = [aCondition("Scheduled"), aCondition("ContentReady"), aCondition("SaveRestored")];
const full = aCondition("ContentReady", { status: "False", reason: "InsufficientSpace" });
const refused = aCondition("ContentReady", { status: "False", reason: "ArchiveRefused" });
const noStore = aCondition("SaveRestored", { status: "False", reason: "StoreUnreachable" });
const badSave = aCondition("SaveRestored", { status: "False", reason: "SaveMissing" });
const damagedSave = aCondition("SaveRestored", { status: "False", reason: "ChecksumMismatch" });
const damagedContent = aCondition("ContentReady", { status: "False", reason: "ChecksumMismatch" });
const secondNode = { attempt: 2, assignedAt: createdAt, triedNodes: ["node0"] };
const pending = { phase: "Pending" };
const noRoom = (message: string) => ({
  ...pending,
  conditions: [
    {
      type: "PodScheduled",
      status: "False",
      reason: "Unschedulable",
      message,
      lastTransitionTime: createdAt,
    },
  ],
});
const withStreamer = (reason: string) => ({
  ...pending,
  initContainerStatuses: [containerStatus("streamer", { waiting: { reason, message: "not found" } })],
});
const imageFailed = withStreamer("ErrImagePull");
const imageMissing = withStreamer("ImagePullBackOff");
/** A streamer that failed so many seconds after the session's creation, and was started again. */
const restartedStreamer = (failedAfter: number) => {
  const message = JSON.stringify({
    state: "ended",
    reason: "failed",
    connections: 1,
    game: null,
    cpuSeconds: 1,
    peakMemoryBytes: 1,
    wallSeconds: 1,
  });
  const lastState = {
    terminated: { exitCode: 1, reason: "Error", message, finishedAt: after(failedAfter).toISOString() },
  };
  return {
    initContainerStatuses: [
      containerStatus("streamer", { running: { startedAt: createdAt } }, { restartCount: 1, lastState }),
    ],
  };
};
const toEnd = ["recordStopping", "deletePod", "awaitGameEnd", "awaitSave", "finish"];

describe("planFor", () => {
  const cases: [string, Given, string[], string?][] = [
    ["places a new session", {}, ["holdSession", "assignNode"]],
    ["waits for the files of a session that is placed", { status: aPlacedStatus() }, ["awaitContent"]],
    [
      "creates the pod when the files are ready: the pod restores the save",
      { status: aPlacedStatus({ conditions: [aCondition("ContentReady")] }) },
      ["createPod", "reportReadiness"],
    ],
    [
      "creates the pod before the save is ready where the files are unpacked already",
      { status: aPlacedStatus(), isContentCached: true },
      ["createPod", "reportReadiness"],
    ],
    [
      "keeps a pod that waits for the save",
      { status: aPlacedStatus(), pod: {}, isContentCached: true },
      ["createPod", "reportReadiness"],
    ],
    [
      "keeps a pod when its node no longer lists the files",
      { status: aPlacedStatus(), pod: {} },
      ["createPod", "reportReadiness"],
    ],
    [
      "creates the pod when files and save are ready",
      { status: aPlacedStatus({ conditions: contentReady }) },
      ["createPod", "reportReadiness"],
    ],
    [
      "reports a pod that runs",
      { status: aPlacedStatus({ conditions: contentReady }), pod: {} },
      ["createPod", "reportReadiness"],
    ],
    ["watches a running session", { status: aRunningStatus(), pod: {} }, ["createPod", "reportReadiness"]],

    [
      "moves a session whose download is late to another node",
      { status: aPlacedStatus(), now: after(60) },
      ["moveToAnotherNode"],
    ],
    [
      "does not move a session one second before its download is late",
      { status: aPlacedStatus(), now: after(59) },
      ["awaitContent"],
    ],
    [
      "stops a session whose second download is late",
      { status: aPlacedStatus({ placement: secondNode }), now: after(60) },
      ["finish"],
      "DownloadTimedOut",
    ],
    [
      "moves a session away from a full node at once",
      { status: aPlacedStatus({ conditions: [full] }) },
      ["moveToAnotherNode"],
    ],
    [
      "stops a session whose archive the second node refuses",
      { status: aPlacedStatus({ conditions: [refused], placement: secondNode }) },
      ["finish"],
      "ArchiveRefused",
    ],
    [
      "moves a session with a waiting pod when its save cannot be restored",
      { status: aPlacedStatus({ conditions: [badSave] }), pod: {}, isContentCached: true },
      ["moveToAnotherNode"],
    ],
    [
      "stops a session and its pod when no node can restore the save",
      { status: aPlacedStatus({ conditions: [badSave], placement: secondNode }), pod: {} },
      toEnd,
      "SaveMissing",
    ],
    [
      "stops a session at once when a second node finds its save damaged",
      { status: aPlacedStatus({ conditions: [damagedSave], placement: secondNode }), pod: {} },
      toEnd,
      "ChecksumMismatch",
    ],
    [
      "waits for an archive that arrived damaged to be fetched again",
      { status: aPlacedStatus({ conditions: [damagedContent] }) },
      ["awaitContent"],
    ],
    [
      "moves a session away from a node that cannot fetch the save in time",
      { status: aPlacedStatus({ conditions: [noStore] }), pod: {}, isContentCached: true, now: after(60) },
      ["moveToAnotherNode"],
    ],
    [
      "keeps a session on a node whose pod is slow to restore the save",
      { status: aPlacedStatus(), pod: {}, isContentCached: true, now: after(60) },
      ["createPod", "reportReadiness"],
    ],
    [
      "moves a session away from a node with its files whose agent is silent and does not prepare it",
      {
        status: aPlacedStatus(),
        pod: {},
        isContentCached: true,
        nodeHealth: "Unknown",
        isAgentSilent: true,
        now: after(60),
      },
      ["moveToAnotherNode"],
    ],
    [
      "moves a session away whose agent fell silent before the save was restored",
      {
        status: aPlacedStatus({ conditions: [aCondition("ContentReady")] }),
        pod: {},
        nodeHealth: "Unknown",
        isAgentSilent: true,
        now: after(60),
      },
      ["moveToAnotherNode"],
    ],
    [
      "gives an agent that is silent as long to prepare the session as a download may take",
      {
        status: aPlacedStatus(),
        pod: {},
        isContentCached: true,
        nodeHealth: "Unknown",
        isAgentSilent: true,
        now: after(59),
      },
      ["createPod", "reportReadiness"],
    ],
    [
      "keeps a session that its agent prepared before it fell silent",
      {
        status: aPlacedStatus({ conditions: contentReady }),
        pod: {},
        nodeHealth: "Unknown",
        isAgentSilent: true,
        now: after(60),
      },
      ["createPod", "reportReadiness"],
    ],
    [
      "keeps a session that waits for its save where the kubelet alone is silent",
      { status: aPlacedStatus(), pod: {}, isContentCached: true, nodeHealth: "Unknown", now: after(60) },
      ["createPod", "reportReadiness"],
    ],
    [
      "stops a session with a waiting pod when its node is lost",
      { status: aPlacedStatus(), pod: {}, nodeHealth: "Lost" },
      ["finish"],
      "NodeLost",
    ],
    [
      "waits for an object store that is unavailable",
      {
        status: aPlacedStatus({
          conditions: [aCondition("ContentReady", { status: "False", reason: "StoreUnreachable" })],
        }),
      },
      ["awaitContent"],
    ],
    [
      "stops a session that gets no node in time",
      { status: { startedAt: createdAt }, now: after(120) },
      ["finish"],
      "NoCapacity",
    ],
    [
      "does not count the time before an operator saw the session",
      { now: after(1000) },
      ["holdSession", "assignNode"],
    ],
    [
      "stops a session whose pod is not ready in time",
      {
        status: aPlacedStatus({ conditions: contentReady }),
        pod: {
          status: {
            phase: "Pending",
            containerStatuses: [containerStatus("game", { waiting: { reason: "ErrImagePull" } })],
          },
        },
        now: after(120),
      },
      toEnd,
      "StartTimedOut",
    ],
    [
      "stops a session whose pod is stuck at its start deadline, where the GameNode alone says that its files are there",
      { status: aPlacedStatus(), isContentCached: true, pod: { status: imageFailed }, now: after(120) },
      toEnd,
      "StartTimedOut",
    ],
    [
      "finishes a session without a pod at its start deadline",
      { status: aPlacedStatus({ conditions: contentReady }), now: after(120) },
      ["finish"],
      "StartTimedOut",
    ],

    [
      "changes a port that is taken",
      {
        status: aPlacedStatus({ conditions: contentReady }),
        pod: { status: noRoom("1 node(s) didn't have free ports"), isBound: false },
      },
      ["changePort"],
    ],
    [
      "changes a port that the kubelet refuses",
      {
        status: aPlacedStatus({ conditions: contentReady }),
        pod: { status: { phase: "Failed", reason: "NodePorts" } },
      },
      ["changePort"],
    ],
    [
      "changes a third port that is taken, on the second node too",
      {
        status: aPlacedStatus({ conditions: contentReady, placement: secondNode }),
        pod: { status: noRoom("1 node(s) didn't have free ports"), isBound: false },
      },
      ["changePort"],
    ],
    [
      "changes a third port that the kubelet refuses, on the second node too",
      {
        status: aPlacedStatus({ conditions: contentReady, placement: secondNode }),
        pod: { status: { phase: "Failed", reason: "NodePorts" } },
      },
      ["changePort"],
    ],
    [
      "stops a session at its start deadline whose ports are all taken",
      {
        status: aPlacedStatus({ conditions: contentReady }),
        pod: { status: noRoom("1 node(s) didn't have free ports"), isBound: false },
        now: after(120),
      },
      toEnd,
      "StartTimedOut",
    ],
    [
      "stops a session that was played whose port the kubelet refuses",
      { status: aRunningStatus(), pod: { status: { phase: "Failed", reason: "NodePorts" } } },
      toEnd,
      "PodRejected",
    ],
    [
      "moves a session whose pod finds no room",
      {
        status: aPlacedStatus({ conditions: contentReady }),
        pod: { status: noRoom("Insufficient nvidia.com/gpu"), isBound: false },
      },
      ["moveToAnotherNode"],
    ],
    [
      "does not move a session at once when its pod finds no room",
      {
        status: aPlacedStatus({ conditions: contentReady }),
        pod: { status: noRoom("Insufficient nvidia.com/gpu"), isBound: false },
        now: after(9),
      },
      ["createPod", "reportReadiness"],
    ],
    [
      "moves a session whose pod the kubelet refuses",
      {
        status: aPlacedStatus({ conditions: contentReady }),
        pod: { status: { phase: "Failed", reason: "OutOfcpu" } },
      },
      ["moveToAnotherNode"],
    ],
    [
      "stops a session that was played where its pod is refused by a kubelet that was restarted, as its last save lies there",
      { status: aRunningStatus(), pod: { status: { phase: "Failed", reason: "UnexpectedAdmissionError" } } },
      toEnd,
      "PodRejected",
    ],
    [
      "leaves a game that is played alone when somebody edits away that its files were ready",
      { status: aRunningStatus({ conditions: [refused] }), pod: { status: running } },
      ["createPod", "reportReadiness"],
    ],
    [
      "stops a session whose pod a second kubelet refuses",
      {
        status: aPlacedStatus({
          conditions: contentReady,
          placement: { attempt: 2, assignedAt: createdAt, triedNodes: [] },
        }),
        pod: { status: { phase: "Failed", reason: "OutOfcpu" } },
      },
      toEnd,
      "PodRejected",
    ],
    [
      "removes a pod of a former port",
      { status: aPlacedStatus({ conditions: contentReady }), pod: { mediaPort: 20_007 } },
      ["removeObsoletePod"],
    ],
    [
      "leaves a node for another one that does not get the image",
      { status: aPlacedStatus({ conditions: contentReady }), pod: { status: imageMissing } },
      ["leaveForImage", "reportReadiness"],
    ],
    [
      "waits for the image on the second node",
      {
        status: aPlacedStatus({ conditions: contentReady, placement: secondNode }),
        pod: { status: imageMissing },
      },
      ["createPod", "reportReadiness"],
    ],
    [
      "waits for the kubelet's second try to get the image",
      { status: aPlacedStatus({ conditions: contentReady }), pod: { status: imageFailed } },
      ["createPod", "reportReadiness"],
    ],
    ["takes up the running pod of a session whose status was emptied", { status: {}, pod: {} }, ["adoptPod"]],
    [
      "takes up the running pod of a stopped session whose status was emptied",
      { spec: stopped, status: {}, pod: {} },
      ["adoptPod"],
    ],
    [
      "takes up the pod that was played when the status names another node",
      { status: aRunningStatus({ podRef: { name: "gs-1", uid: "uid-of-pod" } }), pod: { nodeName: "node9" } },
      ["adoptPod"],
    ],
    [
      "removes a pod of a former node",
      { status: aPlacedStatus({ conditions: contentReady }), pod: { nodeName: "node9" } },
      ["removeObsoletePod"],
    ],

    [
      "stops a session at once whose game needs an internet that is not allowed",
      { spec: internet },
      ["finish"],
      "NetworkNotAllowed",
    ],
    [
      "stops a session whose game needs the internet where policies are not enforced",
      { spec: internet, status: aPlacedStatus({ conditions: contentReady }), internet: "NotEnforced" },
      ["finish"],
      "NetworkNotEnforced",
    ],
    [
      "waits for the network probe before it creates a pod with internet",
      { spec: internet, status: aPlacedStatus({ conditions: contentReady }), internet: "Awaited" },
      ["awaitNetwork"],
    ],
    [
      "finishes a session at its start deadline that has waited for the network probe",
      {
        spec: internet,
        status: aPlacedStatus(),
        isContentCached: true,
        internet: "Awaited",
        now: after(120),
      },
      ["finish"],
      "NetworkNotEnforced",
    ],
    [
      "blames the files of a session with internet that were not there at its start deadline",
      { spec: internet, status: aPlacedStatus(), internet: "Awaited", now: after(120) },
      ["finish"],
      "DownloadTimedOut",
    ],
    [
      "places a session with internet while the network probe is awaited",
      { spec: internet, internet: "Awaited" },
      ["holdSession", "assignNode"],
    ],
    [
      "creates a pod with internet where that is allowed",
      { spec: internet, status: aPlacedStatus({ conditions: contentReady }), internet: "Allowed" },
      ["createPod", "reportReadiness"],
    ],
    [
      "keeps a game that has the internet when the network probe finds out otherwise",
      { spec: internet, status: aRunningStatus(), pod: {}, internet: "NotEnforced" },
      ["createPod", "reportReadiness"],
    ],
    [
      "takes a requested stop before it refuses the internet",
      { spec: { ...internet, ...stopped } },
      ["finish"],
    ],

    ["stops a session that is asked to stop", { spec: stopped, status: aRunningStatus(), pod: {} }, toEnd],
    ["finishes a session that is asked to stop before it is placed", { spec: stopped }, ["finish"]],
    [
      "finishes a session that is asked to stop before it has a pod",
      { spec: stopped, status: aPlacedStatus() },
      ["finish"],
    ],
    [
      "stops a deleted session gracefully",
      { metadata: { deletionTimestamp: createdAt }, status: aRunningStatus(), pod: {} },
      toEnd,
    ],
    [
      "goes on with a stop that is recorded",
      { status: aRunningStatus({ stoppingAt: createdAt, stopReason: "IdleTimeout" }), pod: {} },
      toEnd,
    ],
    ["stops an idle session", { status: aRunningStatus(), pod: {}, now: after(1805) }, toEnd],
    [
      "does not stop a session while keepalives come",
      { status: aRunningStatus(), spec: { expiresAt }, keptAliveAt: after(1000), pod: {}, now: after(3249) },
      ["createPod", "reportReadiness"],
    ],
    [
      "stops a session when keepalives come no longer",
      { status: aRunningStatus(), spec: { expiresAt }, keptAliveAt: after(1000), pod: {}, now: after(3250) },
      toEnd,
    ],
    [
      "does not shorten the first idle time by an early expiresAt",
      {
        status: aRunningStatus({ readyAt: after(1000).toISOString() }),
        spec: { expiresAt },
        pod: {},
        now: after(2799),
      },
      ["createPod", "reportReadiness"],
    ],
    [
      "stops a session at its longest duration",
      {
        status: aRunningStatus(),
        spec: { expiresAt },
        keptAliveAt: after(28_000),
        pod: {},
        now: after(28_805),
      },
      toEnd,
    ],

    ["stops a session whose game ended well", { status: aRunningStatus(), pod: { status: ended(0) } }, toEnd],
    [
      "stops a session whose game crashed",
      { status: aRunningStatus(), pod: { status: ended(3) } },
      toEnd,
      "GameCrashed",
    ],
    [
      "stops a session whose game ended before it could be played",
      { status: aPlacedStatus({ conditions: contentReady }), pod: { status: ended(0) } },
      toEnd,
      "GameEndedEarly",
    ],
    [
      "stops a session whose game crashed before it could be played",
      { status: aPlacedStatus({ conditions: contentReady }), pod: { status: ended(1) } },
      toEnd,
      "GameCrashed",
    ],
    [
      "stops a session that is out of memory, as the kubelet reports",
      { status: aRunningStatus(), pod: { status: ended(137, "", "OOMKilled") } },
      toEnd,
      "OutOfMemory",
    ],
    [
      "stops a session that is out of memory, as the termination report says",
      {
        status: aRunningStatus(),
        pod: { status: ended(137, aTerminationReport({ reason: "out-of-memory", exitCode: 137 })) },
      },
      toEnd,
      "OutOfMemory",
    ],
    [
      "stops a session that failed after the kernel took one of its processes",
      {
        status: aRunningStatus(),
        pod: { status: ended(1, aTerminationReport({ reason: "exited", exitCode: 1, oomKills: 1 })) },
      },
      toEnd,
      "OutOfMemory",
    ],
    [
      "stops a session that ended well though the kernel took one of its processes",
      {
        status: aRunningStatus(),
        pod: { status: ended(0, aTerminationReport({ reason: "exited", exitCode: 0, oomKills: 1 })) },
      },
      toEnd,
    ],
    [
      "stops a session whose display did not appear",
      {
        status: aPlacedStatus({ conditions: contentReady }),
        pod: { status: ended(70, aTerminationReport({ reason: "no-display", exitCode: 70 })) },
      },
      toEnd,
      "StreamerFailed",
    ],
    [
      "stops a session whose game ended with its streamer",
      { status: aRunningStatus(), pod: { status: { ...ended(1), ...restartedStreamer(64) } } },
      toEnd,
      "StreamerFailed",
    ],
    [
      "stops a session whose game ended well long after its streamer failed and was started again",
      { status: aRunningStatus(), pod: { status: { ...ended(0), ...restartedStreamer(5) } } },
      toEnd,
    ],
    [
      "stops a session whose game crashed long after its streamer failed and was started again",
      { status: aRunningStatus(), pod: { status: { ...ended(3), ...restartedStreamer(5) } } },
      toEnd,
      "GameCrashed",
    ],
    [
      "stops a session whose pod is evicted",
      { status: aRunningStatus(), pod: { status: { phase: "Failed", reason: "Evicted", message: "disk" } } },
      toEnd,
      "PodEvicted",
    ],
    [
      "stops a session whose pod a taint evicts",
      {
        status: aRunningStatus(),
        pod: {
          status: {
            ...running,
            conditions: [{ type: "DisruptionTarget", status: "True", message: "taint" }],
          },
          metadata: { deletionTimestamp: createdAt },
        },
      },
      toEnd,
      "PodEvicted",
    ],
    [
      "stops a session whose pod somebody deleted",
      { status: aRunningStatus(), pod: { metadata: { deletionTimestamp: createdAt } } },
      toEnd,
      "PodDeleted",
    ],
    [
      "stops a session whose pod is gone",
      { status: aRunningStatus() },
      ["recordStopping", "awaitSave", "finish"],
      "PodLost",
    ],

    [
      "changes nothing while the health of the node is unknown",
      { status: aRunningStatus(), pod: {}, nodeHealth: "Unknown" },
      ["createPod", "reportReadiness"],
    ],
    [
      "finishes a session whose node is lost",
      { status: aRunningStatus(), pod: {}, nodeHealth: "Lost" },
      ["finish"],
      "NodeLost",
    ],
    [
      "finishes a session whose node is lost while it stops",
      { spec: stopped, status: aRunningStatus(), pod: {}, nodeHealth: "Lost" },
      ["finish"],
      "NodeLost",
    ],
    [
      "finishes a session without failure when its node is lost after the last save",
      {
        spec: stopped,
        status: aRunningStatus({ conditions: [aCondition("SavePersisted")] }),
        pod: { status: ended(0) },
        nodeHealth: "Lost",
      },
      ["finish"],
    ],
    [
      "moves a session that has no pod when its node is lost",
      { status: aPlacedStatus(), nodeHealth: "Lost" },
      ["moveToAnotherNode"],
    ],

    [
      "cleans up a finished session",
      { status: aRunningStatus({ conditions: [aCondition("Finished")] }), pod: { status: ended(0) } },
      ["releasePod", "releaseSession", "deleteExpired"],
    ],
    [
      "cleans up a finished session whose node is lost",
      { status: aRunningStatus({ conditions: [aCondition("Finished")] }), nodeHealth: "Lost" },
      ["releasePod", "releaseSession", "deleteExpired"],
    ],
  ];

  for (const [what, given, steps, failure] of cases) {
    it(what, () => {
      const plan = planFor(worldOf(given));
      expect(plan.steps).to.deep.equal(steps);
      expect(plan.cause?.failure?.reason).to.equal(failure);
    });
  }

  const preparations: [string, GameSessionStatus["conditions"]][] = [
    ["whose files are ready", [aCondition("ContentReady")]],
    ["whose files and save are ready", contentReady],
  ];
  for (const [what, conditions] of preparations) {
    it(`ends a session ${what} with the API server's words, in bounds, where that has refused the pod until the start deadline`, () => {
      const words = "The API server refuses the session's pod: exceeded quota.";
      const podReady = aCondition("PodReady", {
        status: "False",
        reason: "FailedCreate",
        message: words.padEnd(1024, "."),
      });
      const { failure } =
        planFor(
          worldOf({
            status: aPlacedStatus({ conditions: [...(conditions ?? []), podReady] }),
            now: after(120),
          }),
        ).cause ?? {};
      expect(failure?.reason).to.equal("StartTimedOut");
      expect(failure?.message).to.contain(words).and.have.lengthOf(1024);
    });
  }

  const reasons: [string, Given, string][] = [
    [
      "what the API asked for",
      { spec: { desiredState: "Stopped", stopReason: "IdleTimeout" }, status: aRunningStatus(), pod: {} },
      "IdleTimeout",
    ],
    [
      "a deletion",
      { metadata: { deletionTimestamp: createdAt }, status: aRunningStatus(), pod: {} },
      "Deleted",
    ],
    ["an idle session", { status: aRunningStatus(), pod: {}, now: after(1805) }, "IdleTimeout"],
    [
      "a long session",
      {
        status: aRunningStatus(),
        spec: { expiresAt },
        keptAliveAt: after(28_000),
        pod: {},
        now: after(28_805),
      },
      "MaxDuration",
    ],
    [
      "a game that ended long after its streamer failed",
      { status: aRunningStatus(), pod: { status: { ...ended(0), ...restartedStreamer(5) } } },
      "GameExited",
    ],
    ["a game that ended", { status: aRunningStatus(), pod: { status: ended(0) } }, "GameExited"],
    [
      "what was written down first",
      {
        metadata: { deletionTimestamp: createdAt },
        status: aRunningStatus({ stoppingAt: createdAt, stopReason: "MaxDuration" }),
        pod: {},
      },
      "MaxDuration",
    ],
  ];
  for (const [what, given, reason] of reasons) {
    it(`returns the stop reason of ${what}`, () =>
      expect(planFor(worldOf(given)).cause?.stopReason).to.equal(reason));
  }

  const absences: [string, Given, boolean][] = [
    ["the loss of the pod", { status: aRunningStatus() }, true],
    ["a stop before there is a pod", { spec: stopped, status: aPlacedStatus() }, true],
    ["a move to another node", { status: aPlacedStatus(), nodeHealth: "Lost" }, true],
    ["waiting for the files", { status: aPlacedStatus() }, false],
    ["the creation of the pod", { status: aPlacedStatus({ conditions: contentReady }) }, false],
  ];
  for (const [what, given, rests] of absences) {
    it(`has ${rests ? "to be sure that there is no pod" : "no need to know whether there is a pod"} for ${what}`, () =>
      expect(restsOnAbsentPod(planFor(worldOf(given)))).to.equal(rests));
  }
});
