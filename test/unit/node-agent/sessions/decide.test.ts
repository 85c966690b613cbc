import { expect } from "chai";
import { containerNames } from "#contracts/nodeLayout.ts";
import type { SpoolManifest } from "#contracts/spool.ts";
import { stepFor, type StepName } from "#node-agent/sessions/decide.ts";
import type { SessionRecord } from "#node-agent/sessions/record.ts";
import type { SessionWorld } from "#node-agent/sessions/world.ts";
import {
  aCondition,
  aDigest,
  aGameSession,
  aPlacedStatus,
  aRunningStatus,
  createdAt,
} from "#test/factories/gameSession.ts";
import { aSessionPod, containerStatus, ended, running } from "#test/factories/sessionPod.ts";

const record: SessionRecord = {
  version: 2,
  namespace: "joypod-sessions",
  gameSession: "gs-a",
  uid: "uid",
  contentDigest: aDigest,
  slotId: "slot1",
  baseGeneration: 0,
  sequence: 0,
};
const settled: SessionRecord = { ...record, outcome: { reason: "Stored", message: "" } };
const placed = aGameSession({ status: aPlacedStatus() });
const playing = aGameSession({ status: aRunningStatus() });
const stopping = aGameSession({ status: aRunningStatus(), spec: { desiredState: "Stopped" } });
const cancelled = aGameSession({ status: aPlacedStatus(), spec: { desiredState: "Stopped" } });
const deleted = aGameSession({ status: aRunningStatus(), metadata: { deletionTimestamp: createdAt } });
const finished = aGameSession({ status: aRunningStatus({ conditions: [aCondition("Finished")] }) });
const neverReady = aGameSession({ status: aPlacedStatus({ conditions: [aCondition("Finished")] }) });
const streamerFailed = {
  initContainerStatuses: [
    containerStatus(containerNames.streamer, { terminated: { exitCode: 1, reason: "Error" } }),
  ],
};
const streamerRuns = {
  initContainerStatuses: [containerStatus(containerNames.streamer, { running: { startedAt: createdAt } })],
};
const runningPod = aSessionPod(playing);
const endedPod = aSessionPod(playing, { status: ended() });
const packingPod = aSessionPod(playing, { status: { ...ended(), ...streamerRuns, phase: "Running" } });
const restartingPod = aSessionPod(playing, { status: { ...running, ...streamerFailed } });
const leavingPod = aSessionPod(playing, {
  status: { ...running, ...streamerFailed },
  metadata: { deletionTimestamp: createdAt },
});
const waitingPod = aSessionPod(playing, {
  status: {
    phase: "Pending",
    containerStatuses: [containerStatus("game", { waiting: { reason: "PodInitializing" } })],
  },
});
const unboundPod = aSessionPod(playing, { isBound: false, status: { phase: "Pending" } });
const evictedPod = aSessionPod(playing, { status: { ...running, phase: "Failed" } });
const refusedPod = aSessionPod(playing, { status: { phase: "Failed", reason: "NodePorts" } });

const manifest: SpoolManifest = { version: 1, uid: "uid", attempt: 1, final: false };
const restored = { report: { version: 1, uid: "uid" } } as const;
const spooled = { ...restored, manifest };
const final = { ...restored, manifest: { ...manifest, final: true } };
const nothing = { session: undefined, pod: undefined, record: undefined, isOrdered: false, spool: {} };
const fresh = { ...nothing, session: placed };
const ordered = { ...nothing, record, isOrdered: true };
const played = { ...ordered, spool: spooled };
const unreadable = new Error("garbage");

const cases: [title: string, world: SessionWorld, step: StepName][] = [
  ["a new session", fresh, "prepare"],
  ["a partially prepared session", { ...fresh, record }, "prepare"],
  ["a prepared session whose conditions may be unreported", { ...ordered, session: placed }, "prepare"],
  ["a pod created before its files are ready", { ...fresh, pod: runningPod }, "prepare"],
  ["a pod that waits for its save", { ...fresh, pod: runningPod, record }, "prepare"],
  [
    "a save restored before the conditions report it",
    { ...ordered, session: placed, pod: runningPod, spool: restored },
    "prepare",
  ],
  ["a stop of a pod that waits for its save", { ...ordered, session: cancelled, pod: runningPod }, "wait"],
  [
    "a stopped pod whose game never started",
    { ...ordered, session: cancelled, pod: endedPod },
    "reportNothing",
  ],
  [
    "a stopped pod whose save was refused",
    {
      ...ordered,
      session: cancelled,
      pod: endedPod,
      spool: { report: { ...restored.report, refused: { reason: "SaveRefused", message: "" } } },
    },
    "reportNothing",
  ],
  [
    "a pod that the kubelet refused and another may replace",
    { ...ordered, session: playing, pod: refusedPod },
    "prepare",
  ],
  ["a starting pod", { ...ordered, session: playing, pod: waitingPod }, "prepare"],
  ["a running game", { ...played, session: playing, pod: runningPod }, "keepStored"],
  [
    "a running game whose packer claims to be done",
    { ...played, session: playing, pod: runningPod, spool: final },
    "keepStored",
  ],
  [
    "a running game whose streamer is about to restart",
    { ...played, session: playing, pod: restartingPod },
    "keepStored",
  ],
  [
    "a running game whose streamer restarted after a pack marked as final",
    { ...played, session: playing, pod: runningPod, record: settled },
    "keepStored",
  ],
  [
    "a running game whose streamer has ended in a pod being deleted",
    { ...played, session: playing, pod: leavingPod },
    "storeLast",
  ],
  ["a stop while the game still runs", { ...played, session: stopping, pod: runningPod }, "keepStored"],
  ["a stop before the pod has started", { ...ordered, session: stopping, pod: waitingPod }, "wait"],
  ["a game that ended while its packer works", { ...played, session: playing, pod: packingPod }, "wait"],
  [
    "a stop whose packer is done before the kubelet reports it",
    { ...played, session: stopping, pod: runningPod, spool: final },
    "storeLast",
  ],
  [
    "a game that exited and is packed",
    { ...played, session: playing, pod: endedPod, spool: final },
    "storeLast",
  ],
  ["an evicted pod that packed no last save", { ...played, session: playing, pod: evictedPod }, "storeLast"],
  [
    "a pod that ended before its packer's first manifest",
    { ...played, session: playing, pod: endedPod, spool: restored },
    "storeLast",
  ],
  ["a removed pod", { ...played, session: playing }, "storeLast"],
  ["a stop with the game ended", { ...played, session: stopping, pod: endedPod }, "storeLast"],
  [
    "a stop of a pod that was never bound to a node",
    { ...played, session: stopping, pod: unboundPod },
    "storeLast",
  ],
  ["a deleted session with the game ended", { ...played, session: deleted, pod: endedPod }, "storeLast"],
  ["a session cancelled before its pod", { ...ordered, session: cancelled }, "reportNothing"],
  ["a session cancelled before anything", { ...fresh, session: cancelled }, "reportNothing"],
  ["a session cancelled while it is prepared", { ...fresh, session: cancelled, record }, "reportNothing"],
  ["a played session without its folder", { ...nothing, session: playing, pod: runningPod }, "leaveAlone"],
  ["a played session without its folder and pod", { ...nothing, session: playing }, "leaveAlone"],
  [
    "a stop of a played session without its folder",
    { ...nothing, session: stopping, pod: endedPod },
    "leaveAlone",
  ],
  ["a deleted session that was played without its folder", { ...nothing, session: deleted }, "leaveAlone"],
  [
    "a played session whose packer's files are lost",
    { ...ordered, session: playing, pod: endedPod },
    "storeLast",
  ],
  [
    "garbage in the packer's folder",
    { ...played, session: playing, pod: runningPod, spool: {}, unreadable },
    "refuseSpool",
  ],
  [
    "garbage after the end",
    { ...played, session: stopping, pod: endedPod, spool: {}, unreadable },
    "refuseSpool",
  ],
  ["a stored save", { ...played, session: stopping, pod: endedPod, record: settled }, "settle"],
  [
    "a stored save beside garbage",
    { ...played, session: stopping, pod: endedPod, record: settled, unreadable },
    "settle",
  ],
  ["a finished session whose save is stored", { ...played, session: finished, record: settled }, "settle"],
  ["a finished session whose save is not stored yet", { ...played, session: finished }, "storeLast"],
  ["a finished session with nothing here", { ...nothing, session: finished }, "nothing"],
  [
    "a finished session that was never ready, with nothing here",
    { ...nothing, session: neverReady },
    "nothing",
  ],
  ["a deleted session", { ...played }, "resolveAbsence"],
  ["no session and no files", nothing, "nothing"],
];

describe("stepFor", () => {
  for (const [title, world, step] of cases)
    it(`returns ${step} for ${title}`, () => expect(stepFor(world)).to.equal(step));
});
