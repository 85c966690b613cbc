import { expect } from "chai";
import { planFor } from "#operator/controllers/gameSession/decide.ts";
import { aCondition, after, aPlacedStatus, aRunningStatus, createdAt } from "#test/factories/gameSession.ts";
import { containerStatus, running } from "#test/factories/sessionPod.ts";
import { aSessionWorld, type ObservedSession } from "#test/factories/sessionWorld.ts";

const internet = { network: "Internet" } as const;
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
const toEnd = ["recordStopping", "deletePod", "awaitGameEnd", "awaitSave", "finish"];

describe("planFor, of a session that is launched", () => {
  const cases: [string, ObservedSession, string[], string?][] = [
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
  ];

  for (const [what, given, steps, failure] of cases) {
    it(what, () => {
      const plan = planFor(aSessionWorld(given));
      expect(plan.steps).to.deep.equal(steps);
      expect(plan.cause?.failure?.reason).to.equal(failure);
    });
  }
});
