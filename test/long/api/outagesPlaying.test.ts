import { expect } from "chai";
import { sweepIdle } from "#api/gameSessions/sessions/stopIdleSessions.ts";
import type { GameSessionStatusResponse } from "#contracts/http/gameSessions.ts";
import { newGameSessionId } from "#api/gameSessions/launching/decideLaunch.ts";
import { aGameSessionRow, aUser } from "#test/factories/catalog.ts";
import { aGameSessionSpec } from "#test/factories/gameSession.ts";
import { authSessionCacheKey } from "#api/auth/authSessions.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { asIfSwept } from "#test/support/fixtures/idleSweeps.ts";
import { LaunchFixture } from "#test/support/fixtures/launchFixture.ts";
import { expectErrorResponse } from "#test/support/http/apiClient.ts";
import { EventReader } from "#test/support/http/eventReader.ts";
import { startReplica, stopReplica } from "#test/support/http/replica.ts";
import { FakeStreamer } from "#test/support/session/fakeStreamer.ts";
import { TcpRelay } from "#test/support/stores/tcpRelay.ts";
import { freezeDatabase } from "#test/support/stores/postgres.ts";
import { loopbackIp } from "#test/support/processes/loopbackIp.ts";

const podIp = loopbackIp();
const idleTimeoutMs = 1_800_000;

describe("a running session", function () {
  this.timeout(60_000);
  let fixture: LaunchFixture;

  before(async () => {
    fixture = await LaunchFixture.start({ env: { DATABASE_TIMEOUT_MS: "5000" } });
  });
  beforeEach(() => fixture.newPlayer());
  after(() => fixture.stop());

  /** The database is asked whether they are still signed in, at their next request. */
  async function forgetSignIns(): Promise<void> {
    const { redis, postgres } = fixture.api.deps;
    const ids = (await postgres.prisma.authSession.findMany({ select: { id: true } })).map(({ id }) => id);
    for (const id of ids) await redis.expire(authSessionCacheKey(id), 3_000);
  }

  /** An object of the player's that expires now, as an admin can make one: it has no row. */
  async function expiring(): Promise<string> {
    const { operator, user, api } = fixture;
    const id = newGameSessionId("none");
    const spec = aGameSessionSpec({
      userId: user.id,
      idleTimeoutSeconds: idleTimeoutMs / 1000,
      expiresAt: new Date().toISOString(),
    });
    await operator.sessions.create({
      metadata: { name: id, namespace: api.kube?.sessionsNamespace ?? "" },
      spec,
    });
    await operator.makeReady(id, { podIp });
    await eventually(() => api.deps.cluster.gameSession(id)?.status?.readyAt !== undefined, {
      what: "the API to see it",
    });
    return id;
  }

  const outages: Record<string, () => Promise<() => unknown>> = {
    "is unavailable": async () => {
      const { server } = fixture.api.database;
      // The server of the tests writes late: what was stored before must outlive the crash.
      await fixture.api.deps.postgres.pool.query("CHECKPOINT");
      await server.stop("SIGQUIT");
      return () => server.start();
    },
    hangs: () => Promise.resolve(freezeDatabase(fixture.api.database)),
  };

  for (const [what, begin] of Object.entries(outages)) {
    it(`while the database ${what}, is shown, kept alive and streamed as the cluster knows it`, async () => {
      const { api, operator, player, game } = fixture;
      const id = await fixture.running();
      const near = await expiring();
      const other = api.as(await aUser(api.deps));
      for (const browser of [player, other])
        expect((await browser.get("/api/game/sessions")).status).to.equal(200);
      const before = (
        await player.get(`/api/game/session-status?sessionId=${id}`)
      ).json<GameSessionStatusResponse>();
      await forgetSignIns();
      const end = await begin();
      const streamer = await FakeStreamer.at(podIp);
      try {
        const shown = await player.get(`/api/game/session-status?sessionId=${id}`);
        expect(shown.status, shown.text).to.equal(200);
        const told = shown.json<GameSessionStatusResponse>();
        expect(told).to.deep.equal({
          ...before,
          gameTitle: game.slug,
          startedAt: told.startedAt,
          expiresAt: told.expiresAt,
        });
        for (const sessionId of [id, near]) {
          const kept = await player.post("/api/game/keepalive", { sessionId });
          expect(kept.status, kept.text).to.equal(200);
          expect(Date.parse(kept.json<{ expiresAt: string }>().expiresAt)).to.be.within(
            Date.now() + idleTimeoutMs - 5_000,
            Date.now() + idleTimeoutMs,
          );
        }
        expect(Date.parse((await operator.session(near)).spec.expiresAt ?? "")).to.be.above(
          Date.now() + idleTimeoutMs,
        );
        const events = await EventReader.open(api.url, player, id);
        await events.see("running");
        events.close();
        expect(
          (await player.post(`/api/stream/${near}`, "v=0 offer", { "content-type": "application/sdp" }))
            .status,
        ).to.equal(201);
        // What the cluster knows as somebody else's, or does not know, the database alone could tell.
        for (const [browser, sessionId] of [
          [other, id],
          [player, newGameSessionId("none")],
        ] as const) {
          expectErrorResponse(await browser.post("/api/game/keepalive", { sessionId }), 503, "unavailable");
          expectErrorResponse(
            await browser.get(`/api/game/session-status?sessionId=${sessionId}`),
            503,
            "unavailable",
          );
        }
        await operator.sessions.mergePatch(
          { name: near, namespace: api.kube?.sessionsNamespace ?? "" },
          { spec: { desiredState: "Stopped", stopReason: "UserRequested" } },
        );
        await eventually(() => api.deps.cluster.gameSession(near)?.spec.desiredState === "Stopped", {
          what: "the API to see the stop",
        });
        expectErrorResponse(await player.post("/api/game/keepalive", { sessionId: near }), 404, "not_found");
        expectErrorResponse(await player.get("/api/games"), 503, "unavailable");
      } finally {
        streamer.stop();
        await end();
      }
      await eventually(
        async () =>
          (await player.get(`/api/game/session-status?sessionId=${id}`)).json<GameSessionStatusResponse>()
            .gameTitle === game.title,
        { what: "the database's response" },
      );
    });
  }

  it("is not idle while the replica that gets its keepalives cannot reach the database, but others can", async () => {
    const { api, player, user, game } = fixture;
    const id = await expiring();
    const cutOff = await startReplica(api, { env: { DATABASE_URL: "postgres://joypod@127.0.0.1:1/none" } });
    try {
      await player.get("/api/game/sessions"); // All replicas know the sign-in then.
      const page = api.anonymous(cutOff);
      for (const [name, value] of player.cookies) page.cookies.set(name, value);
      const kept = await page.post("/api/game/keepalive", { sessionId: id });
      expect(kept.status, kept.text).to.equal(200);
      const { expiresAt } = kept.json<{ expiresAt: string }>();
      await eventually(() => api.deps.cluster.gameSession(id)?.metadata.annotations !== undefined, {
        what: "the other replica to see the keepalive",
      });
      await aGameSessionRow(api.deps, { user, game }, { id, expiresAt: new Date(Date.now() - 1_000) });
      await asIfSwept(api.deps);
      // The one at work in the background may have come first.
      expect(await sweepIdle(api.deps)).to.not.include(id);
      const row = await fixture.rowOf(id);
      expect(row.status).to.equal("running");
      expect(row.expiresAt?.getTime()).to.be.within(
        Date.parse(expiresAt),
        Date.parse(expiresAt) + idleTimeoutMs / 8,
      );
    } finally {
      await stopReplica(cutOff);
    }
  });

  it("is not idle for the others either when its object did not expire yet, which takes a few keepalives for one write", async () => {
    const { api, operator, player } = fixture;
    const id = await fixture.running();
    const cutOff = await startReplica(api, { env: { DATABASE_URL: "postgres://joypod@127.0.0.1:1/none" } });
    try {
      await player.get("/api/game/sessions");
      const page = api.anonymous(cutOff);
      for (const [name, value] of player.cookies) page.cookies.set(name, value);
      const keepAlive = async (): Promise<number> => {
        const kept = await page.post("/api/game/keepalive", { sessionId: id });
        expect(kept.status, kept.text).to.equal(200);
        return Date.parse(kept.json<{ expiresAt: string }>().expiresAt);
      };
      expect(Date.parse((await operator.session(id)).spec.expiresAt ?? "")).to.be.above(await keepAlive());
      for (const replica of [api, cutOff]) {
        await eventually(() => replica.deps.cluster.gameSession(id)?.metadata.annotations !== undefined, {
          what: "each replica to see the keepalive",
        });
      }
      const { generation } = (await operator.session(id)).metadata;
      await keepAlive();
      const promised = await keepAlive();
      expect((await operator.session(id)).metadata.generation).to.equal(generation);
      await api.deps.postgres.pool.query(
        "UPDATE game_sessions SET expires_at = now() - interval '1 second' WHERE id = $1",
        [id],
      );
      await asIfSwept(api.deps);
      expect(await sweepIdle(api.deps)).to.not.include(id);
      const row = await fixture.rowOf(id);
      expect(row.status).to.equal("running");
      expect(row.expiresAt?.getTime()).to.be.at.least(promised);
    } finally {
      await stopReplica(cutOff);
    }
  });

  it("is known to a new replica, even if Redis hangs briefly while the database does", async () => {
    const { api, player } = fixture;
    const id = await fixture.running();
    await player.get("/api/game/sessions");
    const relay = await TcpRelay.start(api.deps.config.redis.url);
    const cold = await startReplica(api, {
      env: {
        REDIS_URL: `redis://${relay.host}${new URL(api.deps.config.redis.url).pathname}`,
        REDIS_TIMEOUT_MS: "200",
      },
    });
    const thaw = freezeDatabase(api.database);
    try {
      const page = api.anonymous(cold);
      for (const [name, value] of player.cookies) page.cookies.set(name, value);
      relay.stall();
      const kept = await page.post("/api/game/keepalive", { sessionId: id });
      expect(kept.status, kept.text).to.equal(200);
      // Nobody has signed in as this one.
      expectErrorResponse(
        await api.anonymous(cold).post("/api/game/keepalive", { sessionId: id }),
        401,
        "unauthorized",
      );
    } finally {
      thaw();
      await stopReplica(cold);
      await relay.stop();
    }
  });

  it("is not idle after an outage without keepalives, but is after the same time without keepalives later", async () => {
    const { api, operator } = fixture;
    const id = await fixture.running();
    const pass = async (secondsSinceSweep: number): Promise<string[]> => {
      await api.deps.postgres.pool.query(
        "UPDATE game_sessions SET expires_at = now() - interval '1 second' WHERE id = $1",
        [id],
      );
      await asIfSwept(api.deps, secondsSinceSweep);
      return sweepIdle(api.deps);
    };
    expect(await pass(60)).to.not.include(id);
    expect((await fixture.rowOf(id)).status).to.equal("running");
    expect((await fixture.rowOf(id)).expiresAt?.getTime()).to.be.above(Date.now() + idleTimeoutMs - 10_000);
    await pass(1);
    expect(await fixture.rowOf(id)).to.include({ status: "stopping", stopReason: "IdleTimeout" });
    // Nobody but the sweeper at work tells the recorder, which looks for itself every ten seconds.
    await eventually(async () => (await operator.session(id)).spec.desiredState === "Stopped", {
      what: "the stop to reach the cluster",
      timeoutMs: 30_000,
    });
  });
});
