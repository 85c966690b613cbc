import { expect } from "chai";
import type { Pod } from "#kube/api/builtin.ts";
import { after, aGameSession, createdAt } from "#test/factories/gameSession.ts";
import { aSessionPod, containerStatus, ended, type ContainerStatus } from "#test/factories/sessionPod.ts";
import { isInterrupted, streamerFault } from "#operator/sessionPods/podState.ts";

const startedAt = "2030-01-01T10:00:05Z";
const game = (state: Parameters<typeof containerStatus>[1]) => ({
  containerStatuses: [containerStatus("game", state)],
});
const ready = (status: string, lastTransitionTime: string) => ({
  conditions: [{ type: "Ready", status, lastTransitionTime }],
});

describe("isInterrupted", () => {
  const cases: [string, NonNullable<Pod["status"]>, boolean][] = [
    [
      "a pod that is ready",
      { ...ready("True", "2030-01-01T10:00:06Z"), ...game({ running: { startedAt } }) },
      false,
    ],
    [
      "a start that the kubelet has not seen yet",
      { ...ready("False", "2030-01-01T10:00:03Z"), ...game({ waiting: { reason: "PodInitializing" } }) },
      false,
    ],
    [
      "a start whose probes the kubelet has yet to make",
      { ...ready("False", "2030-01-01T10:00:03Z"), ...game({ running: { startedAt } }) },
      false,
    ],
    [
      "a pod that was ready",
      { ...ready("False", "2030-01-01T10:00:09Z"), ...game({ running: { startedAt } }) },
      true,
    ],
    [
      "a pod that only the cluster has marked, as its kubelet is silent",
      {
        conditions: [
          { type: "Ready", status: "False", lastTransitionTime: "2030-01-01T10:00:09Z" },
          { type: "ContainersReady", status: "True" },
        ],
        ...game({ running: { startedAt } }),
      },
      false,
    ],
    ["a game that has ended", ended(), true],
  ];
  for (const [what, status, expected] of cases) {
    it(`returns ${expected} for ${what}`, () =>
      expect(isInterrupted(aSessionPod(aGameSession(), { status }))).to.equal(expected));
  }
});

describe("streamerFault", () => {
  const failed = (finishedAt: Date | undefined): NonNullable<ContainerStatus["state"]> => {
    const report = {
      state: "ended",
      reason: "display-failed",
      connections: 1,
      game: null,
      cpuSeconds: 1,
      peakMemoryBytes: 1,
      wallSeconds: 1,
    };
    return {
      terminated: {
        exitCode: 1,
        reason: "Error",
        message: JSON.stringify(report),
        ...(finishedAt && { finishedAt: finishedAt.toISOString() }),
      },
    };
  };
  const restarted = (finishedAt: Date | undefined): ContainerStatus =>
    containerStatus(
      "streamer",
      { running: { startedAt: createdAt } },
      { restartCount: 1, lastState: failed(finishedAt) },
    );
  /** The game ends 65 seconds after the session's creation. */
  const cases: [string, ContainerStatus, string | undefined][] = [
    ["undefined if the streamer failed long before the game ended", restarted(after(5)), undefined],
    [
      "undefined if the streamer failed eleven seconds before the game ended",
      restarted(after(54)),
      undefined,
    ],
    [
      "the reason if the streamer failed ten seconds before the game ended",
      restarted(after(55)),
      "display-failed",
    ],
    ["the reason if the streamer failed as the game ended", restarted(after(65)), "display-failed"],
    ["the reason if the streamer ended the game and packed its save", restarted(after(80)), "display-failed"],
    ["undefined if the streamer failed at an unknown time", restarted(undefined), undefined],
    [
      "the reason if the streamer failed and was not restarted",
      containerStatus("streamer", failed(undefined)),
      "display-failed",
    ],
  ];
  for (const [what, streamer, expected] of cases) {
    it(`returns ${what}`, () =>
      expect(
        streamerFault(
          aSessionPod(aGameSession(), { status: { ...ended(), initContainerStatuses: [streamer] } }),
        ),
      ).to.equal(expected));
  }

  it("ignores an earlier streamer while the game's end is unknown", () => {
    const unknown = [
      containerStatus("game", { terminated: { exitCode: 137, reason: "ContainerStatusUnknown" } }),
    ];
    expect(
      streamerFault(
        aSessionPod(aGameSession(), {
          status: { ...ended(), initContainerStatuses: [restarted(after(5))], containerStatuses: unknown },
        }),
      ),
    ).to.be.undefined;
  });
});
