import { expect } from "chai";
import type { GameSessionSpec } from "#contracts/crd/gameSessionSpec.ts";
import { finalizers } from "#contracts/crd/names.ts";
import {
  aGame,
  aGameSessionRow,
  aSaveSlot,
  aUser,
  type TestGame,
  type TestUser,
} from "#test/factories/catalog.ts";
import { recordLaunchFailure } from "#api/gameSessions/recording/recordFailures.ts";
import { freePlayers } from "#api/gameSessions/recording/releaseSlots.ts";
import { insertSlotVersion, lockSlot } from "#api/saves/saveVersionQueries.ts";
import { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse, type ApiResponse } from "#test/support/http/apiClient.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { LaunchFixture } from "#test/support/fixtures/launchFixture.ts";
import type { FakeOperator } from "#test/support/cluster/fakeOperator.ts";

const path = "/api/game/launch";

describe("POST /api/game/launch", function () {
  this.timeout(60_000);
  let fixture: LaunchFixture;
  let api: TestApi;
  let operator: FakeOperator;
  let game: TestGame;
  let user: TestUser;

  before(async () => {
    fixture = await LaunchFixture.start({ slots: 20, env: { LAUNCHES_PER_MINUTE: "100" } });
    ({ api, operator, game } = fixture);
  });
  beforeEach(async () => {
    await fixture.newPlayer();
    ({ user } = fixture);
  });
  after(() => fixture.stop());

  async function specOf(id: string): Promise<GameSessionSpec> {
    return (await operator.session(id)).spec;
  }

  /** Ends the session as if its player had stopped it. */
  async function end(id: string): Promise<void> {
    await operator.makeReady(id);
    await operator.finish(id);
    await fixture.ended(id);
  }

  it("stores the session, creates its object and returns 202", async () => {
    const response = await api.as(user).post(path, { gameSlug: game.slug });
    expect(response.status).to.equal(202);
    const body = response.json<{ sessionId: string; status: string }>();
    expect(body.status).to.equal("starting");
    expect(body.sessionId).to.match(/^gs-[0-9a-z]{20}$/);
    const { metadata, spec } = await operator.session(body.sessionId);
    expect(metadata.finalizers).to.deep.equal([finalizers.recorder]);
    expect(spec).to.deep.include({
      userId: user.id,
      gameCacheRef: { name: game.slug },
      contentDigest: game.sha256,
      desiredState: "Running",
    });
    expect(spec.saveSlot).to.include({ number: 1, generation: 0 });
    const row = await fixture.rowOf(body.sessionId);
    expect(row.slotId).to.equal(spec.saveSlot.slotId);
    await eventually(async () => (await fixture.rowOf(row.id)).crCreatedAt !== null);
  });

  it("rejects unauthenticated users, invalid input and unknown games, in that order", async () => {
    expectErrorResponse(await api.anonymous().post(path, { gameSlug: "no-such" }), 401, "unauthorized");
    expectErrorResponse(await api.as(user).post(path, {}), 400, "invalid_request");
    expectErrorResponse(
      await api.as(user).post(path, { gameSlug: game.slug, extra: 1 }),
      400,
      "invalid_request",
    );
    expectErrorResponse(
      await api.as(user).post(path, { gameSlug: game.slug, fresh: true, saveSlotId: "x" }),
      400,
      "invalid_request",
    );
    expectErrorResponse(await api.as(user).post(path, { gameSlug: "no-such" }), 404, "not_found");
    const pending = await aGame(api.deps, { status: "pending_upload" });
    expectErrorResponse(await api.as(user).post(path, { gameSlug: pending.slug }), 404, "not_found");
    const deleted = await aGame(api.deps, { deletedAt: new Date() });
    expectErrorResponse(await api.as(user).post(path, { gameSlug: deleted.slug }), 404, "not_found");
    expect(await api.deps.postgres.prisma.gameSession.count({ where: { userId: user.id } })).to.equal(0);
  });

  describe("with a quality", () => {
    const kept = "/api/account/stream-quality";
    const site = {
      width: 1280,
      height: 720,
      framesPerSecond: 60,
      maxFramesPerSecond: 60,
      codecs: ["H264", "VP8"],
      maxBitrateKbps: 8000,
    };
    const launchedWith = async (quality?: object) => {
      const response = await api
        .as(user)
        .post(path, { gameSlug: game.slug, ...(quality === undefined ? {} : { quality }) });
      expect(response.status).to.equal(202);
      const { sessionId } = response.json<{ sessionId: string }>();
      const { stream } = await specOf(sessionId);
      const shown = (await api.as(user).get(`/api/game/session-status?sessionId=${sessionId}`)).json<{
        quality: object;
      }>();
      return { sessionId, stream, shown: shown.quality };
    };

    it("starts with it and shows it in the status", async () => {
      const { stream, shown } = await launchedWith({ preset: "dataSaver", fps: 25, startKbps: 900 });
      expect(stream).to.deep.equal({
        ...site,
        quality: {
          preset: "DataSaver",
          width: 854,
          height: 480,
          framesPerSecond: 25,
          maxBitrateKbps: 1500,
          startBitrateKbps: 900,
        },
      });
      expect(shown).to.deep.equal({ preset: "dataSaver", width: 854, height: 480, fps: 25, maxKbps: 1500 });
    });

    it("is lowered to the site's maximum", async () => {
      const { stream, shown } = await launchedWith({
        preset: "sharp",
        width: 3840,
        height: 2160,
        fps: 120,
        maxKbps: 100_000,
        startKbps: 90_000,
      });
      expect(stream).to.deep.equal({
        ...site,
        quality: {
          preset: "Sharp",
          width: 1280,
          height: 720,
          framesPerSecond: 60,
          maxBitrateKbps: 8000,
          startBitrateKbps: 8000,
        },
      });
      expect(shown).to.deep.equal({ preset: "sharp", width: 1280, height: 720, fps: 60, maxKbps: 8000 });
    });

    it("is rejected with the field if it is out of range or unknown", async () => {
      for (const [quality, field] of [
        [{ preset: "best" }, "quality.preset"],
        [{ fps: 5 }, "quality.fps"],
        [{ maxKbps: 1e9 }, "quality.maxKbps"],
        [{ startKbps: 0.5 }, "quality.startKbps"],
        [{ width: 1280 }, "quality.height"],
        [{ width: 1, height: 1 }, "quality.width"],
        [{ bitrate: 1 }, "quality"],
      ] as const) {
        const response = await api.as(user).post(path, { gameSlug: game.slug, quality });
        expectErrorResponse(response, 400, "invalid_request");
        expect(response.json<{ details: { path: string }[] }>().details[0]?.path).to.equal(field);
      }
    });

    it("defaults to the player's kept quality, then to the site's", async () => {
      const own = await launchedWith();
      expect(own.stream).to.deep.equal({
        ...site,
        quality: { preset: "Auto", width: 1280, height: 720, framesPerSecond: 60, maxBitrateKbps: 8000 },
      });
      await end(own.sessionId);
      await api.as(user).put(kept, { preset: "dataSaver", maxKbps: 1000 });
      const keptOne = await launchedWith();
      expect(keptOne.shown).to.deep.equal({
        preset: "dataSaver",
        width: 854,
        height: 480,
        fps: 30,
        maxKbps: 1000,
      });
      await end(keptOne.sessionId);
      expect((await launchedWith({ preset: "lowLatency" })).shown).to.include({
        preset: "lowLatency",
        width: 1280,
      });
    });

    it("is the site's default if the stored one is from another release", async () => {
      await api.deps.postgres.pool.query("UPDATE users SET stream_quality = $2 WHERE id = $1", [
        user.id,
        JSON.stringify({ preset: "holographic" }),
      ]);
      expect((await launchedWith()).shown).to.include({ preset: "auto" });
    });

    it("is shown for a session that was launched by a release without it", async () => {
      const { sessionId } = await launchedWith();
      await api.deps.postgres.pool.query(
        "UPDATE game_sessions SET spec = spec #- '{stream,quality}' WHERE id = $1",
        [sessionId],
      );
      const { quality } = (await api.as(user).get(`/api/game/session-status?sessionId=${sessionId}`)).json<{
        quality: object;
      }>();
      expect(quality).to.deep.equal({ preset: "auto", width: 1280, height: 720, fps: 60, maxKbps: 8000 });
    });
  });

  it("returns session_active with the id of the active session", async () => {
    const id = await fixture.launched();
    const response = await api.as(user).post(path, { gameSlug: game.slug });
    expectErrorResponse(response, 409, "session_active");
    expect(response.json()).to.include({ sessionId: id });
    // What is asked for has to exist first; that no slot is free matters only then.
    expectErrorResponse(await api.as(user).post(path, { gameSlug: "no-such" }), 404, "not_found");
    expectErrorResponse(
      await api.as(user).post(path, { gameSlug: game.slug, saveSlotId: "no-such" }),
      404,
      "not_found",
    );
    for (const number of [2, 3]) await aSaveSlot(api.deps, { user, game, number });
    expectErrorResponse(
      await api.as(user).post(path, { gameSlug: game.slug, fresh: true }),
      409,
      "session_active",
    );
  });

  it("accepts exactly one of fifty parallel launches", async () => {
    const player = api.as(user);
    const responses = await Promise.all(
      Array.from({ length: 50 }, () => player.post(path, { gameSlug: game.slug })),
    );
    const statuses = responses.map(({ status }: ApiResponse) => status);
    expect(statuses.filter((status) => status === 202)).to.have.length(1);
    expect(statuses.filter((status) => status === 409)).to.have.length(49);
    const rows = await api.deps.postgres.prisma.gameSession.findMany({ where: { userId: user.id } });
    expect(rows).to.have.length(1);
    expect(await api.deps.postgres.prisma.saveSlot.count({ where: { userId: user.id } })).to.equal(1);
  });

  it("continues the player's last slot unless the request names one", async () => {
    await aSaveSlot(api.deps, { user, game, number: 1 });
    const latest = await aSaveSlot(api.deps, { user, game, number: 2 });
    const saved = {
      objectKey: "saves/x/1.tar.gz",
      sha256: "b".repeat(64),
      bytes: 10n,
      generation: 3,
      lastPlayedAt: new Date(Date.now() + 1000),
    };
    await api.deps.postgres.prisma.saveSlot.update({ where: { id: latest.id }, data: saved });
    expect((await specOf(await fixture.launched())).saveSlot).to.deep.equal({
      slotId: latest.id,
      number: 2,
      generation: 3,
      objectKey: saved.objectKey,
      sha256: saved.sha256,
    });
  });

  it("starts fresh in the lowest empty slot until all are in use", async () => {
    await aSaveSlot(api.deps, { user, game, number: 1 });
    await aSaveSlot(api.deps, { user, game, number: 3 });
    const id = await fixture.launched({ fresh: true });
    expect((await specOf(id)).saveSlot).to.include({ number: 2, generation: 0 });
    await end(id);
    expectErrorResponse(
      await api.as(user).post(path, { gameSlug: game.slug, fresh: true }),
      409,
      "no_empty_slot",
    );
    expect(await fixture.launched({ fresh: false })).to.be.a("string");
  });

  it("continues the requested slot, but not another player's", async () => {
    const slot = await aSaveSlot(api.deps, { user, game, number: 3 });
    const others = await aSaveSlot(api.deps, { user: await aUser(api.deps), game });
    const elsewhere = await aSaveSlot(api.deps, { user, game: await aGame(api.deps) });
    for (const saveSlotId of [others.id, elsewhere.id, "no-such"]) {
      expectErrorResponse(
        await api.as(user).post(path, { gameSlug: game.slug, saveSlotId }),
        404,
        "not_found",
      );
    }
    expect(
      (await specOf(await fixture.launched({ saveSlotId: slot.id, fresh: false }))).saveSlot.slotId,
    ).to.equal(slot.id);
  });

  it("returns conflict until the slot's owner has stored its last save", async () => {
    const slot = await aSaveSlot(api.deps, { user, game });
    await aGameSessionRow(
      api.deps,
      { user, game },
      { slotId: slot.id, status: "stopped", endedAt: new Date(), slotReleasedAt: null },
    );
    expectErrorResponse(
      await api.as(user).post(path, { gameSlug: game.slug, saveSlotId: slot.id }),
      409,
      "conflict",
    );
  });

  it("never starts from a save that was replaced during the launch", async () => {
    const slot = await aSaveSlot(api.deps, { user, game });
    const save = {
      objectKey: "saves/x/imported.tar.gz",
      sha256: "c".repeat(64),
      bytes: 10,
      unpackedBytes: null,
    };
    const { postgres } = api.deps;
    const waiting =
      "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let launching: Promise<ApiResponse> | undefined;
    await postgres.transaction(async (transaction) => {
      await lockSlot(transaction, slot.id);
      launching = api.as(user).post(path, { gameSlug: game.slug });
      await eventually(async () => (await postgres.pool.query(waiting)).rowCount !== 0, {
        what: "the launch to wait for the slot",
      });
      await insertSlotVersion(transaction, slot.id, { ...save, kind: "imported" });
    });
    const response = (await launching)!;
    expectErrorResponse(response, 409, "conflict");
    expect((await specOf(await fixture.launched())).saveSlot).to.include({
      objectKey: save.objectKey,
      generation: 1,
    });
  });

  it("requests the resources that the game's sessions have used, within bounds", async () => {
    const hungry = await aGame(api.deps);
    await api.deps.postgres.prisma.game.update({
      where: { id: hungry.id },
      data: {
        profileSessions: 3,
        profileCpuMillicores: 1000,
        profilePeakMemoryMb: 100_000,
        profileHighestMemoryMb: 100_000,
      },
    });
    expect((await specOf(await fixture.launched({ gameSlug: hungry.slug }))).resources).to.deep.equal({
      cpuMillicores: 1250,
      memoryBytes: 16_384 * 2 ** 20,
      memoryLimitBytes: 16_384 * 2 ** 20,
      gpuShare: 1,
    });
  });

  it("counts the launch for the game's popularity", async () => {
    const fresh = await aGame(api.deps);
    await fixture.launched({ gameSlug: fresh.slug });
    expect(await api.deps.postgres.prisma.gameLaunchDay.findMany({ where: { gameId: fresh.id } }))
      .to.have.length(1)
      .and.to.have.nested.property("[0].launches", 1);
  });
});

describe("POST /api/game/launch at its limits", function () {
  this.timeout(60_000);
  let fixture: LaunchFixture;
  let api: TestApi;
  let game: TestGame;

  before(async () => {
    fixture = await LaunchFixture.start({
      slots: 0,
      env: { LAUNCHES_PER_MINUTE: "3", LAUNCHES_PER_HOUR: "5" },
    });
    ({ api, game } = fixture);
  });
  after(() => fixture.stop());

  it("returns no_servers with Retry-After without nodes, and never exceeds the slots", async () => {
    const nobody = await api.as(await aUser(api.deps)).post(path, { gameSlug: game.slug });
    expectErrorResponse(nobody, 503, "no_servers");
    expect(nobody.headers.get("retry-after")).to.equal("10");
    await fixture.addNode(2);
    await fixture.operator.addNode(9, { capacity: { slots: 9, used: 0, schedulable: false } });
    await eventually(
      () =>
        api.deps.cluster.gameNodes.cache.size === 2 &&
        api.deps.cluster.gameNodes.cache.list().every(({ status }) => status?.capacity !== undefined),
    );
    const users = await Promise.all(Array.from({ length: 8 }, () => aUser(api.deps)));
    const statuses = await Promise.all(
      users.map(async (user) => (await api.as(user).post(path, { gameSlug: game.slug })).status),
    );
    expect(statuses.toSorted()).to.deep.equal([202, 202, 503, 503, 503, 503, 503, 503]);
    expect(await api.deps.postgres.prisma.saveSlot.count({ where: { gameId: game.id } })).to.equal(2);
    // Who plays already is told so, however full it is.
    const players = users.filter((_, index) => statuses[index] === 202);
    for (const player of players)
      expectErrorResponse(await api.as(player).post(path, { gameSlug: game.slug }), 409, "session_active");
  });

  it("counts every launch including refused ones, then returns 429 before any other error", async () => {
    const player = api.as(await aUser(api.deps));
    for (const body of [{}, { gameSlug: "no-such" }, { gameSlug: "no-such" }]) await player.post(path, body);
    const refused = await player.post(path, {});
    expectErrorResponse(refused, 429, "rate_limited");
    expect(Number(refused.headers.get("retry-after"))).to.be.within(1, 60);
    expect(refused.headers.get("ratelimit-policy"))
      .to.contain('"launch";q=3;w=60')
      .and.contain('"launchHourly";q=5;w=3600');
    // What the minute refuses uses up nothing of the hour.
    for (let count = 0; count < 3; count++) await player.post(path, {});
    expect((await player.post(path, {})).headers.get("ratelimit")).to.contain('"launchHourly";r=2');
  });
});

describe("POST /api/game/launch on a full cluster", function () {
  this.timeout(60_000);
  let fixture: LaunchFixture;

  before(async () => {
    fixture = await LaunchFixture.start({ slots: 1 });
    await fixture.newPlayer();
  });
  after(() => fixture.stop());

  it("keeps the slot of a session whose player was freed until the cluster has ended it", async () => {
    const { operator, player, game, api } = fixture;
    const id = await fixture.running();
    await api.deps.postgres.pool.query(
      "UPDATE game_sessions SET status = 'stopping', stopping_at = now() - interval '60 seconds' WHERE id = $1",
      [id],
    );
    await freePlayers(api.deps);
    expectErrorResponse(await player.post(path, { gameSlug: game.slug, fresh: true }), 503, "no_servers");
    await operator.finish(id);
    await eventually(async () => (await fixture.rowOf(id)).recordedAt !== null);
    await fixture.launched({ fresh: true });
  });
});

describe("POST /api/game/launch while the cluster is unavailable", function () {
  this.timeout(60_000);
  let api: TestApi;

  before(async () => {
    // A kubeconfig that leads nowhere, and a node that was seen before.
    api = await TestApi.start();
    api.deps.cluster.gameNodes.cache.upsert({
      apiVersion: "joypod.dev/v1alpha1",
      kind: "GameNode",
      metadata: { name: "seen", uid: "1", resourceVersion: "1", creationTimestamp: new Date().toISOString() },
      spec: { desired: [] },
      status: { capacity: { slots: 1, used: 0, schedulable: true } },
    });
  });
  after(() => api.stop());

  it("returns 503 and leaves neither session nor slot behind", async () => {
    const [user, game] = [await aUser(api.deps), await aGame(api.deps)];
    const response = await api.as(user).post(path, { gameSlug: game.slug });
    expectErrorResponse(response, 503, "no_servers");
    const [row] = await api.deps.postgres.prisma.gameSession.findMany({ where: { userId: user.id } });
    expect(row).to.include({ status: "error", slotId: null });
    expect(await api.deps.postgres.prisma.saveSlot.count({ where: { userId: user.id } })).to.equal(0);
    expectErrorResponse(await api.as(user).post(path, { gameSlug: game.slug }), 503, "no_servers");
  });

  it("leaves the popularity of games unchanged, even if the launch is uncounted twice", async () => {
    const { prisma, pool } = api.deps.postgres;
    const [user, game, other] = [await aUser(api.deps), await aGame(api.deps), await aGame(api.deps)];
    for (const { id } of [game, other]) {
      await pool.query(
        "INSERT INTO game_launch_days (game_id, day, launches) SELECT $1::text, (now() AT TIME ZONE 'UTC')::date - ago, 2 FROM generate_series(0, 1) ago",
        [id],
      );
    }
    expectErrorResponse(await api.as(user).post(path, { gameSlug: game.slug }), 503, "no_servers");
    const [row] = await prisma.gameSession.findMany({ where: { userId: user.id } });
    expect(
      await recordLaunchFailure(api.deps, row!.id, "Told once more."),
      "as another process may",
    ).to.equal(true);
    for (const { id } of [game, other]) {
      const days = await prisma.gameLaunchDay.findMany({ where: { gameId: id, launches: { gt: 0 } } });
      expect(days.map(({ launches }) => launches)).to.deep.equal([2, 2]);
    }
  });
});
