import { expect } from "chai";
import type { GameSessionStatusResponse } from "#contracts/http/gameSessions.ts";
import { disableUser } from "#api/accounts/changeUser.ts";
import { createGroup, restrictGame } from "#api/groups/groups.ts";
import { serveQueue } from "#api/gameSessions/queue/serveQueue.ts";
import { aGame, aUser, type TestGame, type TestUser } from "#test/factories/catalog.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import type { FakeOperator } from "#test/support/cluster/fakeOperator.ts";
import { LaunchFixture } from "#test/support/fixtures/launchFixture.ts";
import type { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse, type ApiResponse } from "#test/support/http/apiClient.ts";

describe("the queue for seats", function () {
  this.timeout(60_000);
  let fixture: LaunchFixture;
  let api: TestApi;
  let operator: FakeOperator;

  let game: TestGame;

  before(async () => {
    fixture = await LaunchFixture.start({
      slots: 0,
      env: { QUEUE_LENGTH: "3", LAUNCHES_PER_MINUTE: "1000" },
    });
    ({ api, operator } = fixture);
  });
  beforeEach(async () => {
    await fixture.addNode(1);
    game = await aGame(api.deps);
  });
  afterEach(async () => {
    await operator.removeNodes();
    const { pool } = api.deps.postgres;
    const { gameNodes, gameSessions } = api.deps.cluster;
    await pool.query(
      "UPDATE game_sessions SET status = 'stopped', ended_at = now(), recorded_at = now(), slot_released_at = now(), queue_number = NULL WHERE recorded_at IS NULL",
    );
    for (const { metadata } of gameSessions.cache.list()) await operator.vanish(metadata.name);
    await eventually(() => gameNodes.cache.list().length + gameSessions.cache.list().length === 0, {
      what: "an empty cluster",
    });
  });
  after(() => fixture.stop());

  /** A player of the queue. */
  interface Waiting {
    user: TestUser;
    id: string;
  }

  function launch(user: TestUser, body: object = {}): Promise<ApiResponse> {
    return api.as(user).post("/api/game/launch", { gameSlug: game.slug, ...body });
  }

  /** Takes the only slot, and returns its session. */
  async function playing(): Promise<Waiting> {
    const user = await aUser(api.deps);
    const response = await launch(user);
    expect(response.status, response.text).to.equal(202);
    const { sessionId: id } = response.json<{ sessionId: string }>();
    await fixture.makeReady(id);
    return { user, id };
  }

  async function waiting(): Promise<Waiting> {
    const user = await aUser(api.deps);
    const response = await launch(user, { wait: true });
    expect(response.status, response.text).to.equal(202);
    const { sessionId, ...body } = response.json<{ sessionId: string }>();
    expect(body).to.deep.equal({ status: "starting", stage: "queued" });
    return { user, id: sessionId };
  }

  async function statusOf({ user, id }: Waiting): Promise<GameSessionStatusResponse> {
    return (
      await api.as(user).get(`/api/game/session-status?sessionId=${id}`)
    ).json<GameSessionStatusResponse>();
  }

  async function positions(...all: readonly Waiting[]): Promise<(number | undefined)[]> {
    return Promise.all(all.map(async (each) => (await statusOf(each)).queue?.position));
  }

  async function end({ id }: Waiting): Promise<void> {
    await operator.finish(id);
    await fixture.ended(id);
  }

  async function seatReady(one: Waiting): Promise<void> {
    await eventually(async () => (await statusOf(one)).queue?.confirmBy !== undefined, {
      what: "the seat to be ready",
    });
  }

  function confirm({ user, id }: Waiting): Promise<ApiResponse> {
    return api.as(user).post("/api/game/confirm", { sessionId: id });
  }

  /** Sets a time of the queued row back. */
  async function age({ id }: Waiting, data: { offeredAt?: Date; expiresAt?: Date; passedAt?: Date }) {
    await api.deps.postgres.prisma.gameSession.update({ where: { id }, data });
  }

  const secondsAgo = (seconds: number): Date => new Date(Date.now() - seconds * 1000);

  it("takes launches that wait, and refuses others as always", async () => {
    await playing();
    const other = await aUser(api.deps);
    expectErrorResponse(await launch(other), 503, "no_servers");
    expectErrorResponse(await launch(other, { wait: false }), 503, "no_servers");
    const one = await waiting();
    const { stage, status, queue } = await statusOf(one);
    expect({ stage, status, position: queue?.position }).to.deep.equal({
      stage: "queued",
      status: "starting",
      position: 1,
    });
    expect(await operator.findSession(one.id)).to.equal(undefined);
    await eventually(async () => (await statusOf(one)).queue?.waitSeconds !== undefined, {
      what: "an estimate",
    });
    const again = await launch(one.user, { wait: true });
    expectErrorResponse(again, 409, "session_active");
    expect(again.json<{ sessionId: string }>().sessionId).to.equal(one.id);
    const { queue: place } = await statusOf(one);
    expect((await api.as(one.user).get("/api/game/sessions")).json<object>()).to.deep.include({
      sessions: [
        {
          sessionId: one.id,
          gameSlug: game.slug,
          gameTitle: game.title,
          status: "starting",
          startedAt: (await fixture.rowOf(one.id)).startedAt.toISOString(),
          stage: "queued",
          queue: place,
        },
      ],
    });
  });

  it("holds a free seat for the first, who starts by confirming it", async () => {
    const player = await playing();
    const [first, second] = [await waiting(), await waiting()];
    expect(await positions(first, second)).to.deep.equal([1, 2]);
    expectErrorResponse(await confirm(first), 409, "conflict");
    await end(player);
    await seatReady(first);
    expectErrorResponse(await launch(player.user), 503, "no_servers");
    expectErrorResponse(await confirm(second), 409, "conflict");
    const confirmed = await confirm(first);
    expect(confirmed.status).to.equal(202);
    expect(confirmed.json<object>()).to.deep.equal({ sessionId: first.id, status: "starting" });
    expect((await operator.session(first.id)).spec.userId).to.equal(first.user.id);
    expect((await statusOf(first)).stage).to.equal("scheduling");
    expect((await confirm(first)).status).to.equal(202);
    expect(await positions(first, second)).to.deep.equal([undefined, 1]);
    await fixture.makeReady(first.id);
  });

  it("refuses to confirm sessions of others, ended ones and without sign-in", async () => {
    await playing();
    const one = await waiting();
    const path = "/api/game/confirm";
    expectErrorResponse(await api.anonymous().post(path, { sessionId: one.id }), 401, "unauthorized");
    expectErrorResponse(await api.as(one.user).post(path, {}), 400, "invalid_request");
    const other = await aUser(api.deps);
    expectErrorResponse(await api.as(other).post(path, { sessionId: one.id }), 404, "not_found");
    await api.as(one.user).post("/api/game/stop", { sessionId: one.id });
    expectErrorResponse(await confirm(one), 404, "not_found");
  });

  it("leaves no trace of a player who leaves", async () => {
    await playing();
    const [one, next] = [await waiting(), await waiting()];
    const { slotId } = await fixture.rowOf(one.id);
    const stopped = await api.as(one.user).post("/api/game/stop", { sessionId: one.id });
    expect(stopped.status).to.equal(200);
    expect(stopped.json<object>()).to.deep.equal({
      status: "stopped",
      duration: 0,
      cpuSeconds: 0,
      peakMemoryMb: 0,
    });
    const { endReason, status } = await statusOf(one);
    expect({ endReason, status }).to.deep.equal({ endReason: "user_requested", status: "stopped" });
    expect(await positions(next)).to.deep.equal([1]);
    const { prisma } = api.deps.postgres;
    expect(await prisma.saveSlot.count({ where: { id: slotId ?? "" } })).to.equal(0);
    expect((await prisma.gameLaunchDay.findFirstOrThrow({ where: { gameId: game.id } })).launches).to.equal(
      2,
    );
    expect((await launch(one.user, { wait: true })).status).to.equal(202);
  });

  it("is shown to admins by its length and oldest wait", async () => {
    const { metrics, queueState } = api.deps;
    const readQueue = async () =>
      (await api.anonymous().get("/readyz?exclude=objectStore&include=queue")).json<{ queue: object }>()
        .queue;
    await eventually(async () => (await queueState()).length === 0, { what: "an empty queue" });
    expect(await readQueue()).to.deep.equal({ length: 0, oldestWaitSeconds: 0 });
    await playing();
    const [{ id }] = [await waiting(), await waiting()];
    await api.deps.postgres.prisma.gameSession.update({ where: { id }, data: { queuedAt: secondsAgo(90) } });
    await eventually(async () => (await queueState()).oldestWaitSeconds > 60, { what: "the wait" });
    expect(await readQueue()).to.include({ length: 2 });
    const text = await metrics.registry.metrics();
    expect(text).to.match(/^joypod_queue_length 2$/m);
    expect(text).to.match(/^joypod_queue_oldest_wait_seconds 9\d\.\d+$/m);
    expect(text).to.match(/^joypod_queue_departures_total\{reason="seated"\} \d+$/m);
  });

  it("is bounded", async () => {
    await playing();
    for (const position of [1, 2, 3]) expect(await positions(await waiting())).to.deep.equal([position]);
    const refused = await launch(await aUser(api.deps), { wait: true });
    expectErrorResponse(refused, 503, "no_servers");
    expect(refused.json<{ message: string }>().message).to.contain("the queue is full");
  });

  it("gives the place of a silent page to the next, and an unconfirmed seat after a minute", async () => {
    const player = await playing();
    const [silent, absent, present] = [await waiting(), await waiting(), await waiting()];
    await api.as(silent.user).post("/api/game/keepalive", { sessionId: silent.id });
    await age(silent, { expiresAt: secondsAgo(1) });
    await eventually(async () => (await statusOf(silent)).status === "stopped", { what: "the lapse" });
    expect(await statusOf(silent)).to.deep.include({ endReason: "queue_timeout" });
    expect(await positions(absent, present)).to.deep.equal([1, 2]);
    await end(player);
    await seatReady(absent);
    await age(absent, { offeredAt: secondsAgo(61) });
    await seatReady(present);
    expect((await statusOf(absent)).message).to.contain("went to the next player");
    expectErrorResponse(await confirm(absent), 404, "not_found");
    expect((await confirm(present)).status).to.equal(202);
  });

  it("shortens the time of a page that says that it closes, until its next keepalive", async () => {
    await playing();
    const { user, id } = await waiting();
    const leftMs = async (): Promise<number> =>
      ((await fixture.rowOf(id)).expiresAt?.getTime() ?? 0) - Date.now();
    expect(await leftMs()).to.be.greaterThan(150_000);
    const left = await api.as(user).post("/api/game/leave", { sessionId: id, connection: "queued-page" });
    expect(left.json<object>()).to.include({ status: "left" });
    expect(await leftMs()).to.be.within(60_000, 121_000);
    await api.as(user).post("/api/game/keepalive", { sessionId: id });
    expect(await leftMs()).to.be.greaterThan(150_000);
  });

  it("takes the place of a player whose account is disabled", async () => {
    await playing();
    const [one, next] = [await waiting(), await waiting()];
    const { postgres, audit } = api.deps;
    await disableUser({ postgres, audit, announce: () => Promise.resolve(true) }, one.user.email);
    await eventually(async () => expect(await positions(next)).to.deep.equal([1]));
    const ended = await fixture.rowOf(one.id);
    expect(ended).to.include({ status: "stopped", stopReason: "Deleted", durationSeconds: 0 });
    expect(await postgres.prisma.saveSlot.count({ where: { userId: one.user.id } })).to.equal(0);
  });

  it("takes the place of a player who no longer sees the game, and gives no seat to one", async () => {
    const player = await playing();
    const one = await waiting();
    await end(player);
    await seatReady(one);
    await createGroup(api.deps, "Nobody");
    await restrictGame(api.deps, game.slug, ["Nobody"]);
    expectErrorResponse(await confirm(one), 404, "not_found");
    await eventually(async () => expect((await statusOf(one)).status).to.equal("error"));
    expect(await statusOf(one)).to.deep.include({
      endReason: "game_unavailable",
      message: "This game is no longer available to you, so your launch left the queue.",
    });
    expect(await operator.findSession(one.id)).to.equal(undefined);
  });

  it("restarts all times after nobody has served it for a while", async () => {
    await playing();
    const one = await waiting();
    // One transaction: no pass sees one without the other.
    await api.deps.postgres.pool.query(
      "WITH late AS (UPDATE game_queue SET served_at = now() - interval '5 minutes') UPDATE game_sessions SET expires_at = now() - interval '1 minute' WHERE queue_number IS NOT NULL",
    );
    await eventually(
      async () => ((await fixture.rowOf(one.id)).expiresAt?.getTime() ?? 0) > Date.now() + 60_000,
      { what: "more time" },
    );
    expect((await statusOf(one)).stage).to.equal("queued");
  });

  it("keeps the place of a player whose seat is lost", async () => {
    const player = await playing();
    const [one, next] = [await waiting(), await waiting()];
    await end(player);
    await seatReady(one);
    await operator.removeNodes();
    await eventually(() => api.deps.cluster.gameNodes.cache.list().length === 0, { what: "no nodes" });
    const response = await confirm(one);
    expect(response.status).to.equal(202);
    expect(response.json<object>()).to.include({ stage: "queued" });
    expect(await positions(one, next)).to.deep.equal([1, 2]);
    await fixture.addNode(1);
    await seatReady(one);
  });

  it("lets later launches pass one that fits nowhere, for at most ten minutes", async () => {
    const gibibyte = 2 ** 30;
    await operator.removeNodes();
    const capacity = { used: 0, schedulable: true };
    await operator.addNode(3, {
      capacity: { slots: 3, ...capacity, offered: { cpuMillicores: 100_000, memoryBytes: 8 * gibibyte } },
    });
    await eventually(() => api.deps.cluster.gameNodes.cache.list()[0]?.status?.capacity?.slots === 3, {
      what: "the API to see the node",
    });
    const { prisma } = api.deps.postgres;
    const needs = (memoryMb: number) => prisma.game.update({ where: { id: game.id }, data: { memoryMb } });
    await needs(4096);
    const player = await playing();
    const large = await waiting();
    await needs(512);
    const passing = await launch(await aUser(api.deps));
    expect(passing.status, passing.text).to.equal(202);
    const { passedAt } = await fixture.rowOf(large.id);
    expect(passedAt).to.be.an.instanceOf(Date);
    await age(large, { passedAt: secondsAgo(601) });
    expectErrorResponse(await launch(await aUser(api.deps)), 503, "no_servers");
    const small = await waiting();
    expect(await positions(large, small)).to.deep.equal([1, 2]);
    await serveQueue(api.deps);
    expect((await statusOf(small)).queue?.confirmBy).to.equal(undefined);
    await end(player);
    await seatReady(large);
    await seatReady(small);
  });

  it("offers nothing to a launch whose game has left the catalogue", async () => {
    await playing();
    const one = await waiting();
    await api.deps.postgres.prisma.game.update({
      where: { id: game.id },
      data: { deletedAt: new Date() },
    });
    await eventually(async () => (await statusOf(one)).status === "error", { what: "the end" });
  });
});

describe("a site without a queue", function () {
  this.timeout(60_000);

  it("refuses launches that wait, too", async () => {
    const fixture = await LaunchFixture.start({ slots: 0, env: { QUEUE_LENGTH: "0" } });
    try {
      await fixture.newPlayer();
      expectErrorResponse(
        await fixture.player.post("/api/game/launch", { gameSlug: fixture.game.slug, wait: true }),
        503,
        "no_servers",
      );
    } finally {
      await fixture.stop();
    }
  });
});
