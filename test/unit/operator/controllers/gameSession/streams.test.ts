import { expect } from "chai";
import type { Pod } from "#kube/api/builtin.ts";
import { silentLogger } from "#runtime/logger.ts";
import { keyOf, type Stored } from "#kube/api/object.ts";
import { ObjectCache } from "#kube/cache/cache.ts";
import { aGameSession, createdAt } from "#test/factories/gameSession.ts";
import { aSessionPod, containerStatus, running } from "#test/factories/sessionPod.ts";
import { FakeClock } from "#test/support/clocks/fakeClock.ts";
import { Streams, type PlayableStream } from "#operator/controllers/gameSession/streams.ts";

const starting: Pod["status"] = {
  phase: "Pending",
  podIP: "10.0.0.5",
  conditions: [{ type: "Ready", status: "False" }],
  initContainerStatuses: [
    containerStatus("streamer", { running: { startedAt: createdAt } }, { ready: false }),
  ],
};

const stream: PlayableStream = {
  picture: { renderer: "virgl", width: 1280, height: 720, maxFps: 60 },
  encoder: "x264enc",
  codec: "h264",
};

describe("Streams", () => {
  let clock: FakeClock;
  let pods: ObjectCache<Pod>;
  let responses: (boolean | "no window" | Error)[];
  let asked: string[];
  let told: string[];
  let streams: Streams;
  let unsubscribe: () => void;
  let version = 0;

  const podWith = (status: NonNullable<Pod["status"]>): Stored<Pod> => {
    const pod = aSessionPod(aGameSession(), { status });
    return { ...pod, metadata: { ...pod.metadata, resourceVersion: String(++version) } };
  };

  beforeEach(() => {
    clock = new FakeClock();
    pods = new ObjectCache<Pod>();
    [responses, asked, told] = [[], [], []];
    const askStreamer = async ({
      podIp,
      ticket,
    }: {
      podIp: string;
      ticket: string;
    }): Promise<PlayableStream & { ready: boolean; game: "waiting" | "running"; hasWindow?: boolean }> => {
      asked.push(`${podIp} by ${ticket}`);
      const response = responses.shift() ?? false;
      if (response instanceof Error) throw response;
      const hasWindow = response === "no window" ? { hasWindow: false } : {};
      return Promise.resolve({
        ready: true,
        game: response === false ? "waiting" : "running",
        ...hasWindow,
        ...stream,
      });
    };
    const tickets = { publicKey: "", sign: (gameSession: string) => `a ticket to ${gameSession}` };
    streams = new Streams({ pods, tickets, askStreamer, clock, logger: silentLogger });
  });

  afterEach(() => unsubscribe());

  const follow = (): void => void (unsubscribe = streams.subscribe((key) => told.push(key)));

  it("polls a starting pod's streamer until it is playable, and enqueues the session once", async () => {
    follow();
    const pod = podWith(starting);
    responses = [new Error("refused"), false, true];
    pods.upsert(pod);
    await clock.advance(0);
    expect([asked.length, told, streams.playable(pod)]).to.deep.equal([1, [], undefined]);
    await clock.advance(200);
    expect([asked.length, told, streams.playable(pod)]).to.deep.equal([3, [keyOf(pod)], stream]);
    pods.upsert(podWith(starting));
    await clock.advance(5000);
    expect([asked.length, clock.pendingTimers]).to.deep.equal([3, 0]);
  });

  it("polls at growing intervals", async () => {
    follow();
    pods.upsert(podWith(starting));
    await clock.advance(60_000);
    expect(asked.length).to.be.within(80, 100);
  });

  it("treats a running game as playable once it has opened a window", async () => {
    follow();
    responses = [false, "no window", "no window", true];
    pods.upsert(podWith(starting));
    await clock.advance(1000);
    expect([asked.length, told.length]).to.deep.equal([4, 1]);
  });

  it("treats a game without a window as playable after a while", async () => {
    follow();
    responses = Array.from({ length: 100 }, () => "no window" as const);
    pods.upsert(podWith(starting));
    await clock.advance(1400);
    expect(told).to.deep.equal([]);
    await clock.advance(400);
    expect(told).to.have.length(1);
  });

  it("polls pods that existed before it", async () => {
    pods.upsert(podWith(starting));
    follow();
    await clock.advance(0);
    expect(asked).to.deep.equal([`10.0.0.5 by a ticket to ${aGameSession().metadata.name}`]);
  });

  const ends: [string, (pod: Stored<Pod>) => void][] = [
    ["the pod has failed", () => pods.upsert(podWith({ ...starting, phase: "Failed" }))],
    ["the pod is deleted", (pod) => pods.remove(pod)],
    ["it is stopped", () => unsubscribe()],
  ];
  for (const [what, end] of ends) {
    it(`stops polling when ${what}`, async () => {
      follow();
      const pod = podWith(starting);
      pods.upsert(pod);
      await clock.advance(0);
      responses = [true];
      end(pod);
      await clock.advance(5000);
      expect([asked.length, told, clock.pendingTimers]).to.deep.equal([1, [], 0]);
    });
  }

  it("queries the stream of a streamer that the kubelet reported first", async () => {
    follow();
    const pod = podWith(starting);
    responses = [false, false, true];
    pods.upsert(pod);
    await clock.advance(0);
    pods.upsert(podWith(running));
    await clock.advance(200);
    expect([asked.length, told, streams.playable(pod), clock.pendingTimers]).to.deep.equal([
      3,
      [keyOf(pod)],
      stream,
      0,
    ]);
  });

  it("stops polling ten seconds after the kubelet's report", async () => {
    follow();
    pods.upsert(podWith(starting));
    await clock.advance(0);
    pods.upsert(podWith(running));
    await clock.advance(10_000);
    const { length } = asked;
    await clock.advance(60_000);
    expect([asked.length - length, told, clock.pendingTimers]).to.deep.equal([0, [], 0]);
  });

  it("does not poll pods that were ready before it", async () => {
    pods.upsert(podWith(running));
    follow();
    await clock.advance(5000);
    expect(asked).to.deep.equal([]);
  });

  it("does not poll before the streamer runs", async () => {
    follow();
    pods.upsert(podWith({ phase: "Pending" }));
    pods.upsert(
      podWith({
        phase: "Pending",
        podIP: "10.0.0.5",
        initContainerStatuses: [containerStatus("streamer", { waiting: { reason: "ContainerCreating" } })],
      }),
    );
    await clock.advance(5000);
    expect(asked).to.deep.equal([]);
  });
});
