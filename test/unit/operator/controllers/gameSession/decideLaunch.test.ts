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

describe("planFor (launch)", () => {
  const cases: [string, ObservedSession, string[], string?][] = [
    ["places a new session", {}, ["holdSession", "assignNode"]],
    ["waits for the files of a session that is placed", { status: aPlacedStatus() }, ["awaitContent"]],
    [
      "creates the pod when the files are ready, because the pod restores the save",
      { status: aPlacedStatus({ conditions: [aCondition("ContentReady")] }) },
      ["createPod", "reportReadiness"],
    ],
    [
      "creates the pod before the save is ready if the files are already unpacked",
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
      "reports a running pod",
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
      "stops a session at once if a second node finds its save damaged",
      { status: aPlacedStatus({ conditions: [damagedSave], placement: secondNode }), pod: {} },
      toEnd,
      "ChecksumMismatch",
    ],
    [
      "waits for a new download of an archive that arrived damaged",
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
      "moves a session away from a node that has its files but a silent agent",
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
      "moves a session away if its agent fell silent before the save was restored",
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
      "gives a silent agent the download deadline to prepare the session",
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
      "keeps a session that was prepared before its agent fell silent",
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
      "keeps a session that waits for its save if only the kubelet is silent",
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
      "stops a session that is not placed in time",
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
      "stops a session whose pod is stuck at its start deadline if only the GameNode lists its files",
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
      "changes a taken port",
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
      "changes a third taken port, on the second node too",
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
      "stops a played session whose port the kubelet refuses",
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
      "stops a played session whose pod is refused by a restarted kubelet, because its last save is there",
      { status: aRunningStatus(), pod: { status: { phase: "Failed", reason: "UnexpectedAdmissionError" } } },
      toEnd,
      "PodRejected",
    ],
    [
      "does not stop a running game if somebody removes ContentReady from the status",
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
      "moves away from a node that cannot get the image",
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
      "waits for the kubelet's second attempt to get the image",
      { status: aPlacedStatus({ conditions: contentReady }), pod: { status: imageFailed } },
      ["createPod", "reportReadiness"],
    ],
    ["takes up the running pod of a session whose status was emptied", { status: {}, pod: {} }, ["adoptPod"]],
    [
      "adopts the running pod of a stopped session whose status was emptied",
      { spec: stopped, status: {}, pod: {} },
      ["adoptPod"],
    ],
    [
      "adopts the played pod if the status names another node",
      { status: aRunningStatus({ podRef: { name: "gs-1", uid: "uid-of-pod" } }), pod: { nodeName: "node9" } },
      ["adoptPod"],
    ],
    [
      "removes a pod of a former node",
      { status: aPlacedStatus({ conditions: contentReady }), pod: { nodeName: "node9" } },
      ["removeObsoletePod"],
    ],

    [
      "stops a session at once if its game needs internet access that is not allowed",
      { spec: internet },
      ["finish"],
      "NetworkNotAllowed",
    ],
    [
      "stops a session whose game needs internet access if policies are not enforced",
      { spec: internet, status: aPlacedStatus({ conditions: contentReady }), internet: "NotEnforced" },
      ["finish"],
      "NetworkNotEnforced",
    ],
    [
      "waits for the network probe before it creates a pod with internet access",
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
      "reports missing files of a session with internet access at its start deadline",
      { spec: internet, status: aPlacedStatus(), internet: "Awaited", now: after(120) },
      ["finish"],
      "DownloadTimedOut",
    ],
    [
      "places a session with internet access while it waits for the network probe",
      { spec: internet, internet: "Awaited" },
      ["holdSession", "assignNode"],
    ],
    [
      "creates a pod with internet access if that is allowed",
      { spec: internet, status: aPlacedStatus({ conditions: contentReady }), internet: "Allowed" },
      ["createPod", "reportReadiness"],
    ],
    [
      "keeps a game with internet access if the network probe later finds policies unenforced",
      { spec: internet, status: aRunningStatus(), pod: {}, internet: "NotEnforced" },
      ["createPod", "reportReadiness"],
    ],
    [
      "prefers a requested stop to a refusal of internet access",
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
