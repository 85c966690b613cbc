import { expect } from "chai";
import { announcementConfigMap } from "#contracts/announcement.ts";
import { limits } from "#contracts/limits.ts";
import { configMaps } from "#kube/api/builtin.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { disableUser } from "#api/accounts/changeUser.ts";
import { findGameSession } from "#api/gameSessions/sessions/gameSessionQueries.ts";
import { aGame, aUser, type TestGame, type TestUser } from "#test/factories/catalog.ts";
import { aCondition } from "#test/factories/gameSession.ts";
import type { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse, type ApiClient } from "#test/support/http/apiClient.ts";
import { EventReader } from "#test/support/http/eventReader.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { JumpClock } from "#test/support/clocks/jumpClock.ts";
import { LaunchFixture } from "#test/support/fixtures/launchFixture.ts";
import type { FakeOperator } from "#test/support/cluster/fakeOperator.ts";
import { RawClient } from "#test/support/http/rawHttp.ts";
import { startReplica, stopReplica } from "#test/support/http/replica.ts";
import { StatementLog } from "#test/support/stores/statementLog.ts";

/** A line of the log; its level is a word. */
interface LogLine {
  level: string;
  msg: string;
  route?: string;
  isCut?: boolean;
}

describe("GET /api/game/events", function () {
  this.timeout(60_000);
  let clock: JumpClock;
  let fixture: LaunchFixture;
  let api: TestApi;
  let replica: TestApi;
  let operator: FakeOperator;
  let game: TestGame;
  let user: TestUser;
  let player: ApiClient;
  let readers: EventReader[];

  before(async () => {
    clock = new JumpClock();
    const env = { STOP_WAIT_SECONDS: "5", EVENT_HEARTBEAT_SECONDS: "1", EXPIRY_WARNING_SECONDS: "60" };
    fixture = await LaunchFixture.start({ env });
    ({ api, operator, game } = fixture);
    replica = await startReplica(api, { clock, env });
  });
  beforeEach(async () => {
    await fixture.newPlayer();
    ({ user, player } = fixture);
    readers = [];
  });
  afterEach(() => {
    for (const reader of readers) reader.close();
  });
  after(async () => {
    await stopReplica(replica);
    await fixture.stop();
  });

  async function open(
    id: string,
    { of = api, as = player, lastEventId }: { of?: TestApi; as?: ApiClient; lastEventId?: string } = {},
  ): Promise<EventReader> {
    const reader = await EventReader.open(
      of.url,
      as,
      id,
      lastEventId === undefined ? {} : { "last-event-id": lastEventId },
    );
    readers.push(reader);
    return reader;
  }

  it("sends followers of every replica each launch stage, the start, and the end with its reason", async () => {
    const node = await operator.addNode(1, {
      cache: {
        capacityBytes: 1,
        freeBytes: 0,
        entries: [{ digest: game.sha256!, state: "Downloading", bytes: 0, progressPercent: 42, inUse: true }],
      },
    });
    const id = await fixture.launched();
    const streams = [await open(id), await open(id, { of: replica })];
    for (const { response } of streams) {
      expect(response.status).to.equal(200);
      expect(response.headers.get("content-type")).to.match(/^text\/event-stream/);
      expect(response.headers.get("content-encoding")).to.equal(null);
      expect(response.headers.get("cache-control")).to.match(/no-store/);
    }
    const passed = [aCondition("Scheduled")];
    const steps = [
      ["ContentReady", { stage: "downloading", progressPercent: 42 }],
      ["SaveRestored", { stage: "restoring" }],
      ["PodReady", { stage: "booting" }],
    ] as const;
    for (const [next, shown] of steps) {
      await operator.report(id, { nodeName: node, conditions: passed });
      for (const stream of streams) await stream.see("stage", shown);
      passed.push(aCondition(next));
    }
    await operator.makeReady(id, { node });
    for (const stream of streams)
      await stream.see("running", { containerUrl: `${api.url}/api/stream/${id}` });
    const stopped = player.post("/api/game/stop", { sessionId: id });
    for (const stream of streams) await stream.see("stopping", { endReason: "user_requested" });
    await operator.finish(id);
    expect((await stopped).status).to.equal(200);
    for (const stream of streams) {
      await stream.see("end", { status: "stopped", endReason: "user_requested" });
      await stream.seeEnd();
      expect(stream.names.filter((name) => name !== "stage")).to.deep.equal(["running", "stopping", "end"]);
    }
  });

  it("ends for a failed launch, even one without an object", async () => {
    const failed = await fixture.launched();
    const stream = await open(failed);
    await operator.finish(failed, {
      stopReason: "Failed",
      failure: { reason: "DownloadTimeout", message: "secret detail" },
    });
    const { data } = await stream.see("end", { status: "error", endReason: "failed" });
    expect(JSON.stringify(data)).not.to.contain("secret detail");
    const unheard = await fixture.launched();
    const second = await open(unheard, { of: replica });
    await second.see("stage");
    await api.deps.postgres.prisma.gameSession.update({
      where: { id: unheard },
      data: { status: "error", stopReason: "Failed", endedAt: new Date() },
    });
    clock.jump(15_000); // The pass over followed rows.
    await second.see("end", { status: "error" });
  });

  it("logs one line and no warning when its reader leaves", async () => {
    const id = await fixture.launched();
    const reader = await open(id);
    await reader.see("stage");
    const before = api.logLines.length;
    reader.close();
    const linesSince = (): LogLine[] => api.logLines.slice(before).map((line) => JSON.parse(line) as LogLine);
    const [request, brokenOff] = ["A request has ended.", "A response broke off."] as const;
    await eventually(
      () => [request, brokenOff].every((text) => linesSince().some(({ msg }) => msg === text)),
      { what: "what is logged of the end" },
    );
    const lines = linesSince();
    const ofRoute = lines.filter(({ route }) => route === "/api/game/events");
    expect(ofRoute).to.have.length(1);
    expect(ofRoute[0]).to.include({ msg: request, isCut: true });
    expect(lines.filter(({ level }) => ["warn", "error", "fatal"].includes(level))).to.be.empty;
  });

  it("resumes after the last event that a client saw, on any replica, and answers 204 to one that saw the end", async () => {
    const id = await fixture.launched();
    const first = await open(id);
    await first.see("stage");
    first.close();
    const second = await open(id, { of: replica, lastEventId: first.lastId });
    await eventually(() => second.comments > 0);
    expect(second.names).to.deep.equal([]);
    await operator.makeReady(id);
    await second.see("running");
    await operator.finish(id, { stopReason: "GameExited" });
    await second.see("end", { endReason: "game_exited" });
    expect(second.names).to.include.members(["running", "end"]).and.not.include("stage");
    expect((await open(id, { lastEventId: second.lastId })).response.status).to.equal(204);
    expect((await open(id, { lastEventId: first.lastId })).response.status).to.equal(200);
    await readers.at(-1)?.see("end");
  });

  it("warns before the idle end", async () => {
    const id = await fixture.launched();
    await operator.makeReady(id);
    await eventually(
      async () =>
        (await api.deps.postgres.prisma.gameSession.findUniqueOrThrow({ where: { id } })).status ===
        "running",
    );
    const expiresAt = new Date(Date.now() + 61_000);
    await api.deps.postgres.prisma.gameSession.update({ where: { id }, data: { expiresAt } });
    const stream = await open(id);
    const { data } = await stream.see("expiring");
    expect(data).to.deep.equal({ sessionId: id, expiresAt: expiresAt.toISOString(), secondsLeft: 60 });
    await stream.see("ending", { sessionId: id, reason: "idle_timeout", at: expiresAt.toISOString() });
    expect(stream.names).to.have.members(["running", "expiring", "ending"]);
  });

  it("announces an end that an admin has planned, and its cancellation", async () => {
    const id = await fixture.running();
    const stream = await open(id);
    await stream.see("running");
    const planned = { at: new Date(Date.now() + 7_200_000).toISOString(), message: "New disks." };
    const ref = { name: id, namespace: api.kube!.sessionsNamespace };
    await operator.sessions.mergePatch(ref, { spec: { plannedEnd: { ...planned, reason: "Drained" } } });
    await stream.see("ending", { sessionId: id, reason: "drained", ...planned });
    expect((await player.get(`/api/game/session-status?sessionId=${id}`)).json()).to.deep.include({
      ending: { reason: "drained", ...planned },
    });
    await operator.sessions.mergePatch(ref, { spec: { plannedEnd: null } });
    await eventually(() => stream.names.length === 3, { what: "another event" });
    expect(stream.names).to.deep.equal(["running", "ending", "running"]);
  });

  it("announces an admin's immediate stop before it says that the session stops", async () => {
    const id = await fixture.running();
    const stream = await open(id);
    await stream.see("running");
    const ref = { name: id, namespace: api.kube!.sessionsNamespace };
    await operator.sessions.delete(ref);
    const { metadata } = await operator.session(id);
    const at = new Date(metadata.deletionTimestamp!).toISOString();
    await stream.see("ending", { sessionId: id, reason: "deleted", at });
    await stream.see("stopping", { endReason: "deleted" });
    expect(stream.names.slice(0, 3)).to.deep.equal(["running", "ending", "stopping"]);
    await operator.finish(id, { stopReason: "Deleted" });
    await stream.see("end", { endReason: "deleted" });
    expect(stream.names.filter((name) => name === "ending")).to.have.length(1);
  });

  it("announces that an admin has disabled the player", async () => {
    const id = await fixture.running();
    const stream = await open(id);
    await stream.see("running");
    await disableUser({ ...api.deps, announce: () => Promise.resolve(true) }, user.email);
    await stream.see("ending", { sessionId: id, reason: "deleted" });
    await stream.see("stopping", { endReason: "deleted" });
    await operator.finish(id, { stopReason: "Deleted" });
  });

  it("shows an admin's announcement to everyone who plays until its time is over", async () => {
    const id = await fixture.running();
    const stream = await open(id);
    await stream.see("running");
    const client = new ResourceClient(api.kube!.server.admin, configMaps);
    const ref = { namespace: api.deps.config.cluster.releaseNamespace, name: announcementConfigMap };
    const announcement = {
      message: "Tournament at 20:00!",
      since: new Date().toISOString(),
      until: new Date(Date.now() + 600_000).toISOString(),
    };
    await client.create({ metadata: ref, data: announcement });
    try {
      const { message, until } = announcement;
      await eventually(() =>
        expect(stream.events.at(-1)?.data.announcement).to.deep.equal({ message, until }),
      );
      await client.mergePatch(ref, { data: { until: new Date(Date.now() - 1).toISOString() } });
      await eventually(
        async () =>
          !("announcement" in (await player.get(`/api/game/session-status?sessionId=${id}`)).json<object>()),
        { what: "the end of the announcement" },
      );
    } finally {
      await client.delete(ref);
    }
  });

  it("tells a resuming client once, on any replica, that the idle end it was warned of was postponed", async () => {
    const id = await fixture.running();
    await api.deps.postgres.prisma.gameSession.update({
      where: { id },
      data: { expiresAt: new Date(Date.now() + 59_000) },
    });
    const warned = await open(id);
    await warned.see("expiring");
    warned.close();
    const { expiresAt } = (await player.post("/api/game/keepalive", { sessionId: id })).json<{
      expiresAt: string;
    }>();
    for (const asked of [replica, api]) {
      const resumed = await open(id, { of: asked, lastEventId: warned.lastId });
      await resumed.see("running", { expiresAt });
      const again = await open(id, { of: asked, lastEventId: resumed.lastId });
      await eventually(() => again.comments > 0);
      expect(again.names).to.deep.equal([]);
    }
  });

  it("admits only the session's owner", async () => {
    const id = await fixture.launched();
    const path = `/api/game/events?sessionId=${id}`;
    expectErrorResponse(await api.anonymous().get(path), 401, "unauthorized");
    expectErrorResponse(await api.as(await aUser(api.deps)).get(path), 404, "not_found");
    expectErrorResponse(await player.get("/api/game/events?sessionId=gs-none"), 404, "not_found");
    expectErrorResponse(await player.get("/api/game/events"), 400, "invalid_request");
  });

  it("ends with the sign-in, on any replica", async () => {
    const id = await fixture.launched();
    const stream = await open(id);
    await stream.see("stage");
    await eventually(() => stream.comments > 1);
    await replica.deps.authSessions.revokeAllOf(user.id);
    await stream.seeEnd();
    expect((await open(id)).response.status).to.equal(401);
  });

  it("limits the streams per user, and frees closed ones", async () => {
    const id = await fixture.launched();
    const before = api.deps.gameSessionEvents.followers;
    for (let count = 0; count < 6; count++) expect((await open(id)).response.status).to.equal(200);
    const refused = await open(id);
    expect(refused.response.status).to.equal(429);
    expect(refused.response.headers.get("retry-after")).to.match(/^\d+$/);
    expect((await open(id, { of: replica })).response.status).to.equal(200);
    readers[0]?.close();
    await eventually(async () => expect((await open(id)).response.status).to.equal(200));
    for (const reader of readers) reader.close();
    await eventually(() => api.deps.gameSessionEvents.followers === before);
  });

  it("limits the streams per process", async () => {
    const id = await fixture.launched();
    const { postgres, gameSessionEvents } = api.deps;
    const row = await findGameSession(postgres.pool, id, user.id);
    if (row === undefined) throw new Error("The session has no row.");
    const free = limits.gameSession.eventStreamsPerProcess - gameSessionEvents.followers;
    const leaves = Array.from({ length: free }, (_stream, number) =>
      gameSessionEvents.follow(
        {
          row,
          userId: `user-${Math.floor(number / limits.gameSession.eventStreamsPerUser)}`,
          lastEventId: "",
        },
        { send: () => undefined, end: () => undefined },
      ),
    );
    const refused = await open(id);
    expect(refused.response.status).to.equal(503);
    expect(refused.response.headers.get("retry-after")).to.match(/^\d+$/);
    for (const leave of leaves) leave();
    expect((await open(id)).response.status).to.equal(200);
  });

  it("disconnects a stalled reader early without affecting others", async () => {
    // So long that the events soon fill what the kernel keeps for a connection.
    const large = await aGame(api.deps, { title: "x".repeat(15_000) });
    const id = await fixture.launched({ gameSlug: large.slug });
    const progress = (progressPercent: number) => ({
      cache: {
        capacityBytes: 1,
        freeBytes: 0,
        entries: [
          { digest: large.sha256!, state: "Downloading" as const, bytes: 0, progressPercent, inUse: true },
        ],
      },
    });
    const node = await operator.addNode(1, progress(0));
    await operator.report(id, { nodeName: node, conditions: [aCondition("Scheduled")] });
    const good = await open(id);
    await good.see("stage", { stage: "downloading" });
    const before = api.deps.gameSessionEvents.followers;
    const slow = await RawClient.connect(api.url);
    slow.pause();
    slow.write(
      `GET /api/game/events?sessionId=${id} HTTP/1.1\r\nHost: x\r\nCookie: auth.session-token=${player.cookies.get("auth.session-token")}\r\n\r\n`,
    );
    await eventually(() => api.deps.gameSessionEvents.followers === before + 1);
    const first = good.events.length;
    let kept = 0;
    for (let sent = 1; api.deps.gameSessionEvents.followers > before && sent < 2_000; sent++) {
      kept = Math.max(kept, sent * 15_000 - slow.unread());
      await operator.nodes.mergePatchStatus({ name: node }, { status: progress((first + sent) % 100) });
      await eventually(() => good.events.length >= first + sent, { intervalMs: 1, what: "the next event" });
    }
    expect(api.deps.gameSessionEvents.followers).to.equal(before);
    expect(kept, "bytes that the process kept for the reader").to.be.below(128 * 1024);
    slow.resume();
    await slow.untilClosed();
    expect(good.hasEnded).to.equal(false);
    const again = await open(id, { lastEventId: good.events[first]!.id });
    await again.see("stage", { progressPercent: good.events.at(-1)!.data["progressPercent"] });
  });

  it("ends after an hour, and the client resumes from there", async () => {
    const id = await fixture.launched();
    const stream = await open(id, { of: replica });
    await stream.see("stage");
    clock.jump(limits.gameSession.eventStreamSeconds * 1_000);
    await stream.seeEnd();
    const next = await open(id, { of: replica, lastEventId: stream.lastId });
    await eventually(() => next.comments > 0);
    expect([stream.names, next.names]).to.deep.equal([["stage"], []]);
  });

  it("reads all followed sessions in one query", async () => {
    const log = new StatementLog(replica.deps.postgres.pool);
    const id = await fixture.launched();
    const streams = await Promise.all(Array.from({ length: 5 }, () => open(id, { of: replica })));
    await Promise.all(streams.map((stream) => stream.see("stage")));
    await eventually(() => streams.every(({ comments }) => comments > 0));
    const statements = await log.during(async () => {
      clock.jump(15_000);
      await operator.makeReady(id);
      await Promise.all(streams.map((stream) => stream.see("running")));
    });
    expect(statements.filter((name) => name !== "touch-auth-session").length, statements.join()).to.be.within(
      1,
      4,
    );
  });

  it("closes on shutdown, and clients resume on another replica", async () => {
    const dying = await startReplica(api, { clock });
    const id = await fixture.launched();
    const stream = await open(id, { of: dying });
    await stream.see("stage");
    await stopReplica(dying);
    await stream.seeEnd();
    const next = await open(id, { lastEventId: stream.lastId });
    await operator.makeReady(id);
    await next.see("running");
    expect(next.names).to.not.include("stage");
  });
});
