import { expect } from "chai";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import { isFinished, publicStatusOf } from "#contracts/crd/sessionState.ts";
import type { StreamerStatus } from "#contracts/stream.ts";
import type { Stored } from "#kube/api/object.ts";
import type { Operator } from "#operator/operator.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { OperatorFixture } from "#test/support/fixtures/operatorFixture.ts";
import { loopbackIp } from "#test/support/processes/loopbackIp.ts";
import { FakeStreamer } from "#test/support/session/fakeStreamer.ts";

const isRunning = (session: GameSession): boolean => publicStatusOf(session) === "running";
const limitMs = 600_000;
/** Longer than the time between two questions to a streamer. */
const periodMs = 31_000;

describe("sessions.maxInputIdleSeconds", function () {
  this.timeout(90_000);
  let fixture: OperatorFixture;
  let operator: Operator;
  let streamers: FakeStreamer[];

  beforeEach(async () => {
    streamers = [];
    fixture = await OperatorFixture.start({
      environment: { MAX_INPUT_IDLE_SECONDS: String(limitMs / 1000) },
    });
    ({ operator } = await fixture.startOperator());
  });
  afterEach(async () => {
    for (const streamer of streamers) streamer.stop();
    await fixture.clear();
  });

  /** A running session with its streamer, whose client sends keepalives. */
  interface PlayedSession {
    name: string;
    streamer: FakeStreamer;
  }

  async function play(userId: string): Promise<PlayedSession> {
    const podIp = loopbackIp();
    const streamer = await FakeStreamer.at(podIp);
    streamers.push(streamer);
    setLastInput(streamer, null);
    fixture.components.behaviour.podIp = podIp;
    const { metadata } = await fixture.launch({ userId });
    await fixture.session(metadata.name, isRunning, "running session");
    return { name: metadata.name, streamer };
  }

  function setLastInput(streamer: FakeStreamer, lastInputAt: string | null): void {
    const said: StreamerStatus = {
      ready: true,
      viewers: 1,
      connections: 1,
      lastInputAt,
      game: "running",
      encoder: "x264enc",
      codec: "h264",
      fps: 30,
      kbps: 4000,
      mediaRestarts: 0,
    };
    streamer.response = { status: 200, headers: {}, body: JSON.stringify(said) };
  }

  /** Passes the time, each session's keepalive first, until the operator has asked every streamer. */
  async function pass(ms: number, sessions: readonly PlayedSession[]): Promise<void> {
    for (const { name } of sessions) {
      const expiresAt = new Date(fixture.clock.now().getTime() + 7_200_000).toISOString();
      await fixture.sessions.mergePatch({ name, namespace: fixture.namespace }, { spec: { expiresAt } });
    }
    const asked = sessions.map(({ streamer }) => ({ streamer, before: streamer.seen.length }));
    await fixture.pass(ms);
    for (const { streamer, before } of asked)
      await eventually(() => streamer.seen.length > before, { what: "a question to the streamer" });
  }

  function read({ name }: PlayedSession): Promise<Stored<GameSession>> {
    return fixture.sessions.get({ name, namespace: fixture.namespace });
  }

  it("ends a session that only gets keepalives, with its save and announced before, but none with input", async () => {
    const [idle, played] = [await play("user1"), await play("user2")];
    const both = [idle, played];
    await pass(periodMs, both);
    await pass(limitMs / 2 + 1_000, both);
    setLastInput(played.streamer, "2030-01-01T00:05:00.000Z");
    const warned = await fixture.session(
      idle.name,
      ({ status }) => status?.idleEndsAt !== undefined,
      "warning",
    );
    const leftMs = Date.parse(warned.status?.idleEndsAt ?? "") - fixture.clock.now().getTime();
    expect(leftMs).to.be.within(0, limitMs / 2);
    await pass(limitMs / 2 + 1_000, [played]);
    const finished = await fixture.session(idle.name, isFinished, "finished session");
    expect(finished.status).to.deep.include({ stopReason: "IdleTimeout" });
    expect(finished.status?.save?.final).to.equal(true);
    expect(publicStatusOf(await read(played))).to.equal("running");
    await eventually(async () => (await read(played)).status?.idleEndsAt === undefined, {
      what: "no warning of the session with input",
    });
  });

  it("begins again under the next operator, so that a crash ends no session early", async () => {
    const idle = await play("user1");
    await pass(periodMs, [idle]);
    await pass(limitMs / 2 + 1_000, [idle]);
    await fixture.session(idle.name, ({ status }) => status?.idleEndsAt !== undefined, "warning");
    await fixture.stopOperator(operator);
    await fixture.pass(limitMs);
    await fixture.startOperator();
    await pass(periodMs, [idle]);
    await fixture.session(idle.name, ({ status }) => status?.idleEndsAt === undefined, "withdrawn warning");
    await pass(limitMs / 2 + 1_000, [idle]);
    await fixture.session(idle.name, ({ status }) => status?.idleEndsAt !== undefined, "warning");
    expect(publicStatusOf(await read(idle))).to.equal("running");
    await pass(limitMs / 2 + 1_000, []);
    const finished = await fixture.session(idle.name, isFinished, "finished session");
    expect(finished.status).to.deep.include({ stopReason: "IdleTimeout" });
  });
});
