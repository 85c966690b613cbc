import { expect } from "chai";
import type { Node } from "#kube/api/builtin.ts";
import { aGameSession, after, aPlacedStatus, aRunningStatus } from "#test/factories/gameSession.ts";
import { aTerminationReport, aSessionPod, containerStatus, ended } from "#test/factories/sessionPod.ts";
import { streamSummaryOf, usageOf } from "#operator/controllers/gameSession/steps/stop.ts";

const running = aGameSession({ status: aRunningStatus() });
const game = JSON.parse(aTerminationReport()) as unknown;
const streamerAccount = JSON.stringify({
  state: "ended",
  reason: "stopped",
  connections: 1,
  game,
  cpuSeconds: 1,
  peakMemoryBytes: 1,
  wallSeconds: 1,
});

/** A node with four CPUs. */
const node: Node = {
  apiVersion: "v1",
  kind: "Node",
  metadata: { name: "node1" },
  status: { capacity: { cpu: "4" } },
};

describe("usageOf", () => {
  it("uses the game's termination report, from Ready to the game's end", () => {
    expect(
      usageOf(running, { pod: aSessionPod(running, { status: ended() }), node }, after(300)),
    ).to.deep.equal({ durationSeconds: 60, cpuSeconds: 12.5, peakMemoryBytes: 300_000_000 });
  });

  it("falls back to the streamer's report if the game left none", () => {
    const status = {
      ...ended(137, ""),
      initContainerStatuses: [
        containerStatus("streamer", { terminated: { exitCode: 0, message: streamerAccount } }),
      ],
    };
    expect(usageOf(running, { pod: aSessionPod(running, { status }), node }, after(300))).to.include({
      cpuSeconds: 12.5,
    });
  });

  for (const [what, message] of [
    ["empty", ""],
    ["truncated", aTerminationReport().slice(0, 40)],
    ["another program's", "Killed"],
    ["malformed", '{"cpuSeconds":-1}'],
  ]) {
    it(`returns undefined if the termination report is ${what ?? ""}`, () => {
      expect(
        usageOf(running, { pod: aSessionPod(running, { status: ended(1, message) }), node }, after(300)),
      ).to.equal(undefined);
    });
  }

  it("returns undefined without a pod", () =>
    expect(usageOf(running, { pod: undefined, node }, after(300))).to.equal(undefined));

  it("reports zero time for a session that was never ready, and never a negative time", () => {
    const early = aGameSession({ status: aPlacedStatus() });
    expect(
      usageOf(early, { pod: aSessionPod(early, { status: ended() }), node }, after(300))?.durationSeconds,
    ).to.equal(0);
    const justReady = aGameSession({ status: aRunningStatus({ readyAt: "2030-01-01T10:01:05.900Z" }) });
    expect(
      usageOf(justReady, { pod: aSessionPod(justReady, { status: ended() }), node }, after(300))
        ?.durationSeconds,
    ).to.equal(0);
  });

  for (const minutes of [10, -10]) {
    it(`reports the played time without the launch if the node's clock is off by ${minutes} minutes`, () => {
      const there = (seconds: number): string => after(seconds + minutes * 60).toISOString();
      const game = containerStatus("game", {
        terminated: {
          exitCode: 0,
          message: aTerminationReport(),
          startedAt: there(4),
          finishedAt: there(305),
        },
      });
      const usage = usageOf(
        running,
        { pod: aSessionPod(running, { status: { ...ended(), containerStatuses: [game] } }), node },
        after(306),
      );
      expect(usage?.durationSeconds).to.be.within(293, 303);
    });
  }

  it("reports the time from Ready to the end if the kubelet did not report the game's start", () => {
    const unknown = JSON.parse('{ "startedAt": null }') as { startedAt: string };
    const game = containerStatus("game", {
      terminated: {
        exitCode: 0,
        message: aTerminationReport(),
        ...unknown,
        finishedAt: after(305).toISOString(),
      },
    });
    expect(
      usageOf(
        running,
        { pod: aSessionPod(running, { status: { ...ended(), containerStatuses: [game] } }), node },
        after(306),
      )?.durationSeconds,
    ).to.equal(300);
  });

  describe("with an impossible report of the game", () => {
    const claim = aTerminationReport({ cpuSeconds: 1e15, peakMemoryBytes: 2 ** 52 });
    /** Returns the usage of a container that ran for a minute. The kubelet may truncate almost a second. */
    function claimed(of: Node | undefined, limits?: Record<string, string>) {
      const status = {
        ...ended(),
        containerStatuses: [
          containerStatus("game", {
            terminated: {
              exitCode: 0,
              message: claim,
              startedAt: "2030-01-01T10:00:05Z",
              finishedAt: "2030-01-01T10:01:05Z",
            },
          }),
        ],
      };
      const pod = aSessionPod(running, { status });
      const [game] = pod.spec?.containers ?? [];
      if (game && limits) game.resources = { limits };
      return usageOf(running, { pod, node: of }, after(300));
    }

    it("limits CPU time to all CPUs of the node while the container ran", () => {
      expect(claimed(node)?.cpuSeconds).to.equal(61 * 4);
    });

    it("limits CPU time to the container's limit", () => {
      expect(claimed(node, { cpu: "1500m" })?.cpuSeconds).to.equal(61 * 1.5);
      expect(claimed(node, { cpu: "2" })?.cpuSeconds).to.equal(61 * 2);
    });

    it("limits CPU time to a maximum if the node is gone", () => {
      expect(claimed(undefined)?.cpuSeconds).to.equal(61 * 64);
    });

    it("limits memory to the container's limit", () => {
      expect(claimed(node)?.peakMemoryBytes).to.equal(
        running.spec.resources.memoryBytes + running.spec.saveVolumeBytes,
      );
    });

    it("counts memory up to the limit if it exceeds the request", () => {
      const resources = { ...running.spec.resources, memoryLimitBytes: 2 ** 40 };
      const session = { ...running, spec: { ...running.spec, resources } };
      const pod = aSessionPod(session, {
        status: ended(0, aTerminationReport({ peakMemoryBytes: 2 ** 39 })),
      });
      expect(usageOf(session, { pod, node }, after(300))?.peakMemoryBytes).to.equal(2 ** 39);
    });

    it("reports no negative time if the clocks disagree", () => {
      const status = {
        ...ended(),
        containerStatuses: [
          containerStatus("game", {
            terminated: {
              exitCode: 0,
              message: claim,
              startedAt: "2030-01-01T10:09:05Z",
              finishedAt: "2030-01-01T10:01:05Z",
            },
          }),
        ],
      };
      expect(
        usageOf(running, { pod: aSessionPod(running, { status }), node }, after(300))?.cpuSeconds,
      ).to.equal(0);
    });
  });
});

describe("streamSummaryOf", () => {
  const measured = {
    firstPictureAt: "2030-01-01T10:00:08.500Z",
    viewedSeconds: 50,
    averageFps: 59.5,
    averageKbps: 8000,
    averageLoss: 0.01,
    width: 1280,
    height: 720,
  };
  const session = aGameSession({ status: { ...aRunningStatus(), startedAt: "2030-01-01T10:00:00Z" } });
  const endedAt = new Date("2030-01-01T10:01:00Z");
  const summaryOf = (stream: unknown) => {
    const message = JSON.stringify({ ...(JSON.parse(streamerAccount) as object), stream });
    const initContainerStatuses = [containerStatus("streamer", { terminated: { exitCode: 0, message } })];
    const pod = aSessionPod(session, { status: { ...ended(), initContainerStatuses } });
    return streamSummaryOf(session, pod, endedAt);
  };

  it("returns what the streamer measured, with the first picture relative to the launch", () => {
    const { firstPictureAt: _, ...stream } = measured;
    expect(summaryOf(measured)).to.deep.equal({ ...stream, firstPictureSeconds: 8.5 });
  });

  it("limits times to the session's", () => {
    const late = { ...measured, firstPictureAt: "2030-01-01T12:00:00.000Z", viewedSeconds: 1e9 };
    expect(summaryOf(late)).to.include({ firstPictureSeconds: 60, viewedSeconds: 60 });
    const early = { ...measured, firstPictureAt: "2030-01-01T09:00:00.000Z" };
    expect(summaryOf(early)).to.include({ firstPictureSeconds: 0 });
  });

  it("returns undefined without a valid measurement", () => {
    for (const stream of [undefined, null, { ...measured, averageFps: -1 }, "owned"])
      expect(summaryOf(stream)).to.equal(undefined);
  });
});
