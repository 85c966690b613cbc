import { expect } from "chai";
import type { GameSessionStatus } from "#contracts/crd/gameSession.ts";
import { planFor, reliesOnAbsentPod } from "#operator/controllers/gameSession/decide.ts";
import { aCondition, after, aPlacedStatus, aRunningStatus, createdAt } from "#test/factories/gameSession.ts";
import { aTerminationReport, containerStatus, ended, running } from "#test/factories/sessionPod.ts";
import { aSessionWorld, type ObservedSession } from "#test/factories/sessionWorld.ts";

const expiresAt = after(99_999).toISOString();
const stopped = { desiredState: "Stopped", stopReason: "UserRequested" } as const;
const contentReady = [aCondition("Scheduled"), aCondition("ContentReady"), aCondition("SaveRestored")];
/** Returns a streamer that failed this many seconds after the session's creation and was restarted. */
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
  const cases: [string, ObservedSession, string[], string?][] = [
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
      "continues a recorded stop",
      { status: aRunningStatus({ stoppingAt: createdAt, stopReason: "IdleTimeout" }), pod: {} },
      toEnd,
    ],
    ["stops an idle session", { status: aRunningStatus(), pod: {}, now: after(1805) }, toEnd],
    [
      "does not stop a session while keepalives arrive",
      { status: aRunningStatus(), spec: { expiresAt }, keptAliveAt: after(1000), pod: {}, now: after(3249) },
      ["createPod", "reportReadiness"],
    ],
    [
      "stops a session when keepalives cease",
      { status: aRunningStatus(), spec: { expiresAt }, keptAliveAt: after(1000), pod: {}, now: after(3250) },
      toEnd,
    ],
    [
      "does not shorten the first idle period because of an early expiresAt",
      {
        status: aRunningStatus({ readyAt: after(1000).toISOString() }),
        spec: { expiresAt },
        pod: {},
        now: after(2799),
      },
      ["createPod", "reportReadiness"],
    ],
    [
      "stops a session at its maximum duration",
      {
        status: aRunningStatus(),
        spec: { expiresAt },
        keptAliveAt: after(28_000),
        pod: {},
        now: after(28_805),
      },
      toEnd,
    ],

    [
      "stops a session whose game exited normally",
      { status: aRunningStatus(), pod: { status: ended(0) } },
      toEnd,
    ],
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
      "stops a session that is out of memory according to the kubelet",
      { status: aRunningStatus(), pod: { status: ended(137, "", "OOMKilled") } },
      toEnd,
      "OutOfMemory",
    ],
    [
      "stops a session that is out of memory according to the termination report",
      {
        status: aRunningStatus(),
        pod: { status: ended(137, aTerminationReport({ reason: "out-of-memory", exitCode: 137 })) },
      },
      toEnd,
      "OutOfMemory",
    ],
    [
      "stops a session that failed after the kernel killed one of its processes",
      {
        status: aRunningStatus(),
        pod: { status: ended(1, aTerminationReport({ reason: "exited", exitCode: 1, oomKills: 1 })) },
      },
      toEnd,
      "OutOfMemory",
    ],
    [
      "stops a session that exited normally although the kernel killed one of its processes",
      {
        status: aRunningStatus(),
        pod: { status: ended(0, aTerminationReport({ reason: "exited", exitCode: 0, oomKills: 1 })) },
      },
      toEnd,
    ],
    [
      "stops a session whose launcher exited before its game",
      {
        status: aRunningStatus(),
        pod: { status: ended(0, aTerminationReport({ reason: "exited", hasOutlivedLauncher: true })) },
      },
      toEnd,
      "LauncherExited",
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
      "stops a session whose game exited normally long after a streamer restart",
      { status: aRunningStatus(), pod: { status: { ...ended(0), ...restartedStreamer(5) } } },
      toEnd,
    ],
    [
      "stops a session whose game crashed long after a streamer restart",
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
      "stops a session whose pod is evicted by a taint",
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
      const plan = planFor(aSessionWorld(given));
      expect(plan.steps).to.deep.equal(steps);
      expect(plan.cause?.failure?.reason).to.equal(failure);
    });
  }

  const preparations: [string, GameSessionStatus["conditions"]][] = [
    ["whose files are ready", [aCondition("ContentReady")]],
    ["whose files and save are ready", contentReady],
  ];
  for (const [what, conditions] of preparations) {
    it(`ends a session ${what} with the API server's truncated error if the pod was refused until the start deadline`, () => {
      const words = "The API server refuses the session's pod: exceeded quota.";
      const podReady = aCondition("PodReady", {
        status: "False",
        reason: "FailedCreate",
        message: words.padEnd(1024, "."),
      });
      const { failure } =
        planFor(
          aSessionWorld({
            status: aPlacedStatus({ conditions: [...(conditions ?? []), podReady] }),
            now: after(120),
          }),
        ).cause ?? {};
      expect(failure?.reason).to.equal("StartTimedOut");
      expect(failure?.message).to.contain(words).and.have.lengthOf(1024);
    });
  }

  const reasons: [string, ObservedSession, string][] = [
    [
      "a stop requested by the API",
      { spec: { desiredState: "Stopped", stopReason: "IdleTimeout" }, status: aRunningStatus(), pod: {} },
      "IdleTimeout",
    ],
    [
      "a deletion",
      { metadata: { deletionTimestamp: createdAt }, status: aRunningStatus(), pod: {} },
      "Deleted",
    ],
    [
      "a session whose planned end has come",
      {
        spec: { plannedEnd: { at: after(5).toISOString(), reason: "Drained" } },
        status: aRunningStatus(),
        pod: {},
      },
      "Drained",
    ],
    ["a session without input", { status: aRunningStatus(), pod: {}, isInputIdle: true }, "IdleTimeout"],
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
      "the recorded cause",
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
      expect(planFor(aSessionWorld(given)).cause?.stopReason).to.equal(reason));
  }

  const absences: [string, ObservedSession, boolean][] = [
    ["the loss of the pod", { status: aRunningStatus() }, true],
    ["a stop before a pod exists", { spec: stopped, status: aPlacedStatus() }, true],
    ["a move to another node", { status: aPlacedStatus(), nodeHealth: "Lost" }, true],
    ["waiting for the files", { status: aPlacedStatus() }, false],
    ["the creation of the pod", { status: aPlacedStatus({ conditions: contentReady }) }, false],
  ];
  for (const [what, given, rests] of absences) {
    it(`${rests ? "relies" : "does not rely"} on the absence of a pod for ${what}`, () =>
      expect(reliesOnAbsentPod(planFor(aSessionWorld(given)))).to.equal(rests));
  }
});
