import { expect } from "chai";
import { graceSecondsOf } from "#operator/controllers/gameSession/steps/stop.ts";
import type { SessionWorld } from "#operator/controllers/gameSession/world.ts";
import type { GameSessionStatus } from "#contracts/crd/gameSession.ts";
import {
  aGameSession,
  after,
  aPlacedStatus,
  aRunningStatus,
  createdAt,
} from "#test/factories/gameSession.ts";
import { aSessionPod, containerStatus, ended, running } from "#test/factories/sessionPod.ts";

type PodStatus = typeof running;

/** The kubelet has not reported the game's start yet. */
const starting: PodStatus = {
  phase: "Pending",
  initContainerStatuses: [containerStatus("streamer", { running: { startedAt: createdAt } })],
  containerStatuses: [containerStatus("game", { waiting: { reason: "PodInitializing" } })],
};

function graceOf(status: GameSessionStatus, podStatus: PodStatus): number | undefined {
  const session = aGameSession({ spec: { desiredState: "Stopped", stopReason: "UserRequested" }, status });
  const pod = aSessionPod(session, { status: podStatus });
  const world: SessionWorld = {
    now: after(10),
    nowMs: 10_000,
    seenAtMs: {},
    session,
    pod,
    isContentCached: true,
    playable: undefined,
    isInputIdle: false,
    idleEndsAtMs: undefined,
    nodeHealth: "Healthy",
    isAgentSilent: false,
    internet: "NotAllowed",
    timing: { unschedulableMs: 1, saveGiveUpMs: 1 },
  };
  return graceSecondsOf(world, pod);
}

describe("graceSecondsOf", () => {
  const whole = undefined;
  const cases: [string, GameSessionStatus, PodStatus, number | undefined][] = [
    ["ten seconds for a pod whose game has not started", aPlacedStatus(), starting, 10],
    ["the full period for a pod whose game runs, ready or not", aPlacedStatus(), running, whole],
    ["the full period for a pod whose game has ended", aRunningStatus(), ended(), whole],
    [
      "the full period for a pod whose streamer reports the game before the kubelet does",
      aRunningStatus(),
      starting,
      whole,
    ],
  ];
  for (const [what, status, podStatus, seconds] of cases) {
    it(`returns ${what}`, () => expect(graceOf(status, podStatus)).to.equal(seconds));
  }
});
