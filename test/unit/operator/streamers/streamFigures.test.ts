import { expect } from "chai";
import { Registry } from "prom-client";
import type { StreamerStatus } from "#contracts/stream.ts";
import type { Pod } from "#kube/api/builtin.ts";
import type { Stored } from "#kube/api/object.ts";
import { StreamFigures } from "#operator/streamers/streamFigures.ts";
import { aGameSession } from "#test/factories/gameSession.ts";
import { aSessionPod, running } from "#test/factories/sessionPod.ts";

const viewed: StreamerStatus = {
  ready: true,
  viewers: 1,
  connections: 1,
  lastInputAt: null,
  game: "running",
  encoder: "x264enc",
  codec: "h264",
  fps: 60,
  kbps: 4_000,
  mediaRestarts: 0,
  connection: { targetKbps: 5_000, queueMs: 2, loss: 0, roundTripMs: 20 },
};

describe("StreamFigures", () => {
  let pods: Stored<Pod>[];
  let statuses: Map<string, StreamerStatus>;
  let tickets: string[];
  let registry: Registry;
  let figures: StreamFigures;
  const { signal } = new AbortController();

  beforeEach(() => {
    pods = [];
    statuses = new Map();
    tickets = [];
    registry = new Registry();
    const askStreamer = ({ podIp, ticket }: { podIp: string; ticket: string }): Promise<StreamerStatus> => {
      tickets.push(ticket);
      const status = statuses.get(podIp);
      return status === undefined ? Promise.reject(new Error("no response")) : Promise.resolve(status);
    };
    figures = new StreamFigures({
      pods: { list: () => pods },
      tickets: { publicKey: "", sign: (name) => `to ${name}` },
      askStreamer,
      registry,
    });
  });

  function pod(
    name: string,
    nodeName: string,
    status?: StreamerStatus,
    state: Pod["status"] = running,
  ): void {
    const podIP = `10.0.0.${pods.length}`;
    if (status !== undefined) statuses.set(podIP, status);
    pods.push(aSessionPod(aGameSession({ metadata: { name } }), { nodeName, status: { ...state, podIP } }));
  }

  async function shown(): Promise<string[]> {
    await figures.refresh(signal);
    return (await registry.metrics()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  }
  const byNode = async (): Promise<string[]> =>
    (await shown()).filter((line) => !line.startsWith("joypod_session_"));

  it("shows the mean and the worst of each node's watched streams", async () => {
    pod("gs-a", "node1", viewed);
    pod("gs-b", "node1", {
      ...viewed,
      fps: 30,
      kbps: 1_000,
      connection: { targetKbps: 1_000, queueMs: 40, loss: 0.5, roundTripMs: 220 },
    });
    pod("gs-c", "node1", { ...viewed, viewers: 0, fps: 0, kbps: 0 });
    pod("gs-d", "node2", { ...viewed, connection: { ...viewed.connection!, roundTripMs: null } });
    pod("gs-e", "node2");
    expect(await byNode()).to.have.members([
      'joypod_streams{node="node1"} 2',
      'joypod_streams{node="node2"} 1',
      'joypod_streamers_unanswered{node="node1"} 0',
      'joypod_streamers_unanswered{node="node2"} 1',
      ...both("joypod_stream_frames_per_second", "node1", 45, 30),
      ...both("joypod_stream_bits_per_second", "node1", 2_500_000, 1_000_000),
      ...both("joypod_stream_target_bits_per_second", "node1", 3_000_000, 1_000_000),
      ...both("joypod_stream_round_trip_seconds", "node1", 0.12, 0.22),
      ...both("joypod_stream_queue_delay_seconds", "node1", 0.021, 0.04),
      ...both("joypod_stream_loss_ratio", "node1", 0.25, 0.5),
      ...both("joypod_stream_frames_per_second", "node2", 60, 60),
      ...both("joypod_stream_bits_per_second", "node2", 4_000_000, 4_000_000),
      ...both("joypod_stream_target_bits_per_second", "node2", 5_000_000, 5_000_000),
      ...both("joypod_stream_queue_delay_seconds", "node2", 0.002, 0.002),
      ...both("joypod_stream_loss_ratio", "node2", 0, 0),
    ]);
    expect(tickets).to.have.members(["to gs-a", "to gs-b", "to gs-c", "to gs-d", "to gs-e"]);
  });

  it("forgets a node without sessions, and does not poll pods that do not run yet", async () => {
    pod("gs-a", "node1", viewed);
    expect(await shown()).to.include('joypod_streams{node="node1"} 1');
    pods = [];
    pod("gs-b", "node2", viewed, { phase: "Pending" });
    expect(await shown()).to.deep.equal([]);
    expect(tickets).to.deep.equal(["to gs-a"]);
  });

  it("shows each watched session, and forgets it when its viewer leaves", async () => {
    const ofSessions = async (): Promise<string[]> =>
      (await shown()).filter((line) => line.startsWith("joypod_session_"));
    pod("gs-a", "node1", viewed);
    pod("gs-b", "node2", { ...viewed, viewers: 0, fps: 0, kbps: 0 });
    expect(await ofSessions()).to.have.members([
      'joypod_session_stream_frames_per_second{session="gs-a"} 60',
      'joypod_session_stream_bits_per_second{session="gs-a"} 4000000',
      'joypod_session_stream_target_bits_per_second{session="gs-a"} 5000000',
      'joypod_session_stream_round_trip_seconds{session="gs-a"} 0.02',
      'joypod_session_stream_queue_delay_seconds{session="gs-a"} 0.002',
      'joypod_session_stream_loss_ratio{session="gs-a"} 0',
    ]);
    statuses.set("10.0.0.0", { ...viewed, viewers: 0 });
    expect(await ofSessions()).to.deep.equal([]);
  });

  it("keeps the number of labels bounded: one per node, and at most five hundred sessions", async () => {
    for (let index = 0; index < 600; index++) pod(`gs-${index}`, `node${index % 2}`, viewed);
    expect(await byNode()).to.have.length(2 * (2 + 6 * 2));
    expect((await shown()).length - (await byNode()).length).to.equal(500 * 6);
  });
});

function both(name: string, node: string, mean: number, worst: number): string[] {
  return [
    `${name}{node="${node}",statistic="mean"} ${mean}`,
    `${name}{node="${node}",statistic="worst"} ${worst}`,
  ];
}
