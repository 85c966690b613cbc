import { expect } from "chai";
import { stepFor, type SessionStep } from "../../../../node-agent/src/sessions/decide.ts";
import type { SessionRecord } from "../../../../node-agent/src/sessions/record.ts";
import type { SessionWorld } from "../../../../node-agent/src/sessions/world.ts";
import { aCondition, aDigest, aGameSession, aPlacedStatus, aRunningStatus, createdAt } from "#test/factories/gameSession.ts";
import { aSessionPod, containerStatus, ended, running } from "#test/factories/sessionPod.ts";

const record: SessionRecord = {
  version: 1, namespace: "joypod-sessions", gameSession: "gs-a", uid: "uid", contentDigest: aDigest, slotId: "slot1", baseGeneration: 0, sequence: 0,
};
const stored: SessionRecord = { ...record, outcome: { reason: "Stored", message: "" } };
const placed = aGameSession({ status: aPlacedStatus() });
const playing = aGameSession({ status: aRunningStatus() });
const stopping = aGameSession({ status: aRunningStatus(), spec: { desiredState: "Stopped" } });
const cancelled = aGameSession({ status: aPlacedStatus(), spec: { desiredState: "Stopped" } });
const deleted = aGameSession({ status: aRunningStatus(), metadata: { deletionTimestamp: createdAt } });
const finished = aGameSession({ status: aRunningStatus({ conditions: [aCondition("Finished")] }) });
const runningPod = aSessionPod(playing);
const endedPod = aSessionPod(playing, { status: ended() });
const waitingPod = aSessionPod(playing, { status: { phase: "Pending", containerStatuses: [containerStatus("game", { waiting: { reason: "PodInitializing" } })] } });
const unboundPod = aSessionPod(playing, { isBound: false, status: { phase: "Pending" } });
const evictedPod = aSessionPod(playing, { status: { ...running, phase: "Failed" } });
const refusedPod = aSessionPod(playing, { status: { phase: "Failed", reason: "NodePorts" } });
const prepared = { record, isPrepared: true, pod: undefined };

const cases: [title: string, world: SessionWorld, step: SessionStep][] = [
  ["a new session", { session: placed, pod: undefined, record: undefined, isPrepared: false }, "prepare"],
  ["a half prepared session", { session: placed, pod: undefined, record, isPrepared: false }, "prepare"],
  ["a prepared session whose conditions may be unsaid", { session: placed, ...prepared }, "prepare"],
  ["a pod made ahead of its files", { session: placed, pod: runningPod, record: undefined, isPrepared: false }, "prepare"],
  ["a pod made ahead that waits for its save", { session: placed, pod: runningPod, record, isPrepared: false }, "prepare"],
  ["a game that runs before the conditions could say so", { session: placed, ...prepared, pod: runningPod }, "prepare"],
  ["a stop of a pod that waits for its save", { session: cancelled, pod: runningPod, record, isPrepared: false }, "wait"],
  ["a stopped pod whose game never started", { session: cancelled, pod: endedPod, record, isPrepared: false }, "reportNothing"],
  ["a pod that the kubelet refused, after which another may come", { session: playing, ...prepared, pod: refusedPod }, "prepare"],
  ["a pod that starts", { session: playing, ...prepared, pod: waitingPod }, "prepare"],
  ["a running game", { session: playing, ...prepared, pod: runningPod }, "keepStored"],
  ["a stop while the game still runs", { session: stopping, ...prepared, pod: runningPod }, "keepStored"],
  ["a stop while the pod has yet to start", { session: stopping, ...prepared, pod: waitingPod }, "wait"],
  ["a game that ended by itself", { session: playing, ...prepared, pod: endedPod }, "storeLast"],
  ["an evicted pod", { session: playing, ...prepared, pod: evictedPod }, "storeLast"],
  ["a pod taken away", { session: playing, ...prepared }, "storeLast"],
  ["a stop with the game ended", { session: stopping, ...prepared, pod: endedPod }, "storeLast"],
  ["a stop with a pod that never got a node", { session: stopping, ...prepared, pod: unboundPod }, "storeLast"],
  ["a deleted session with the game ended", { session: deleted, ...prepared, pod: endedPod }, "storeLast"],
  ["a session cancelled before its pod", { session: cancelled, ...prepared }, "storeLast"],
  ["a session cancelled before anything", { session: cancelled, pod: undefined, record: undefined, isPrepared: false }, "reportNothing"],
  ["a session cancelled while it is prepared", { session: cancelled, pod: undefined, record, isPrepared: false }, "reportNothing"],
  ["a stored save", { session: stopping, pod: endedPod, record: stored, isPrepared: true }, "settle"],
  ["a finished session whose save is stored", { session: finished, pod: undefined, record: stored, isPrepared: true }, "settle"],
  ["a finished session whose save is not stored yet", { session: finished, ...prepared }, "storeLast"],
  ["a finished session with nothing here", { session: finished, pod: undefined, record: undefined, isPrepared: false }, "nothing"],
  ["a session that is gone", { session: undefined, ...prepared }, "resolveAbsence"],
  ["nothing at all", { session: undefined, pod: undefined, record: undefined, isPrepared: false }, "nothing"],
];

describe("stepFor", () => {
  for (const [title, world, step] of cases) it(`${step} for ${title}`, () => expect(stepFor(world)).to.equal(step));
});
