import { expect } from "chai";
import type { GameSessionStatus, StoredSave } from "#contracts/crd/gameSession.ts";
import type { GameSessionStatusResponse } from "#contracts/http/gameSessions.ts";
import type { SavesResponse } from "#contracts/http/saves.ts";
import { disableUser } from "#api/accounts/changeUser.ts";
import { recordGameSession } from "#api/gameSessions/recording/recordGameSession.ts";
import { recordRequestedSave } from "#api/gameSessions/recording/recordSaves.ts";
import { saveKey } from "#contracts/objectKeys.ts";
import { aUser, type TestGame, type TestUser } from "#test/factories/catalog.ts";
import { aCondition } from "#test/factories/gameSession.ts";
import type { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse, type ApiClient } from "#test/support/http/apiClient.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { LaunchFixture } from "#test/support/fixtures/launchFixture.ts";
import type { FakeOperator } from "#test/support/cluster/fakeOperator.ts";

const usage = { durationSeconds: 61.234, cpuSeconds: 30.5, peakMemoryBytes: 300 * 2 ** 20 };
const statistics = { status: "stopped", duration: 61.23, cpuSeconds: 30.5, peakMemoryMb: 300 };

describe("game sessions", function () {
  this.timeout(60_000);
  let fixture: LaunchFixture;
  let api: TestApi;
  let operator: FakeOperator;
  let game: TestGame;
  let user: TestUser;
  let player: ApiClient;

  before(async () => {
    fixture = await LaunchFixture.start({ env: { STOP_WAIT_SECONDS: "2" } });
    ({ api, operator, game } = fixture);
  });
  beforeEach(async () => {
    await fixture.newPlayer();
    ({ user, player } = fixture);
  });
  after(() => fixture.stop());

  async function statusOf(id: string): Promise<GameSessionStatusResponse> {
    const response = await player.get(`/api/game/session-status?sessionId=${id}`);
    expect(response.status, response.text).to.equal(200);
    return response.json<GameSessionStatusResponse>();
  }

  /** Ends every session that is asked to stop, until the returned function is called. */
  function finishOnStop(id: string, status: GameSessionStatus = {}): Promise<void> {
    return eventually(async () => (await operator.session(id)).spec.desiredState === "Stopped").then(() =>
      operator.finish(id, { usage, ...status }),
    );
  }

  describe("POST /api/game/save", () => {
    const stored = (
      slotId: string,
      sequence: number,
      times: { persistedAt: string; requestedAt: string },
    ): StoredSave => ({
      objectKey: `saves/${slotId}/1-gs-a-${sequence}.1.tar.gz`,
      sha256: "a".repeat(64),
      bytes: 10,
      unpackedBytes: 4096,
      generation: 1,
      sequence,
      final: false,
      ...times,
    });

    it("requests a save, and keeps one version per request", async () => {
      const id = await fixture.running();
      const request = async (): Promise<string> => {
        const before = (await operator.session(id)).spec.saveRequestedAt;
        const response = await player.post("/api/game/save", { sessionId: id });
        expect(response.status, response.text).to.equal(202);
        expect(response.json()).to.deep.equal({ status: "saving" });
        const { spec } = await operator.session(id);
        expect(spec.saveRequestedAt).to.be.a("string").and.not.equal(before);
        return spec.saveRequestedAt!;
      };
      const { slotId } = await fixture.rowOf(id);
      const versions = async () =>
        (await player.get(`/api/games/${game.slug}/saves`))
          .json<SavesResponse>()
          .slots[0]!.versions.filter(({ kind }) => kind === "requested");
      const first = await request();
      // The node's clock is a minute behind.
      const early = new Date(new Date(first).getTime() - 60_000).toISOString();
      await operator.report(id, { save: stored(slotId!, 1, { persistedAt: early, requestedAt: first }) });
      await eventually(async () => (await versions()).length === 1, { what: "the first version" });
      await operator.report(id, {
        save: stored(slotId!, 2, { persistedAt: new Date().toISOString(), requestedAt: first }),
      });
      await eventually(
        async () =>
          (await api.deps.postgres.prisma.saveSlot.findUniqueOrThrow({ where: { id: slotId! } })).sequence ===
          2,
        { what: "the autosave" },
      );
      expect(await versions()).to.have.length(1);
      const second = await request();
      await operator.report(id, {
        save: stored(slotId!, 3, { persistedAt: new Date().toISOString(), requestedAt: second }),
      });
      await eventually(async () => (await versions()).length === 2, { what: "the second version" });
      expect((await versions()).every(({ isCurrent }) => !isCurrent)).to.be.true;
      // The node's clock is a minute ahead.
      const late = (at: string): string => new Date(new Date(at).getTime() + 60_000).toISOString();
      const third = await request();
      await operator.report(id, {
        save: stored(slotId!, 4, { persistedAt: late(third), requestedAt: third }),
      });
      await eventually(async () => (await versions()).length === 3, { what: "the third version" });
      const fourth = await request();
      await operator.report(id, {
        save: stored(slotId!, 5, { persistedAt: late(fourth), requestedAt: fourth }),
      });
      await eventually(async () => (await versions()).length === 4, { what: "the fourth version" });
    });

    it("keeps one version if two recorders see the save, and none of a session that does not own its slot", async () => {
      const id = await fixture.running();
      const row = await fixture.rowOf(id);
      const save = stored(row.slotId!, 1, {
        persistedAt: new Date().toISOString(),
        requestedAt: new Date().toISOString(),
      });
      await Promise.all([1, 2, 3, 4].map(() => recordRequestedSave(api.deps, row, save)));
      const { prisma } = api.deps.postgres;
      expect(await prisma.saveVersion.count({ where: { slotId: row.slotId!, kind: "requested" } })).to.equal(
        1,
      );
      await prisma.gameSession.update({ where: { id }, data: { slotReleasedAt: new Date() } });
      await recordRequestedSave(api.deps, row, {
        ...save,
        sequence: 2,
        requestedAt: new Date(Date.now() + 1000).toISOString(),
      });
      expect(await prisma.saveVersion.count({ where: { slotId: row.slotId!, kind: "requested" } })).to.equal(
        1,
      );
    });

    it("requests a save even if the last request came from a clock that was ahead", async () => {
      const id = await fixture.running();
      const ahead = new Date(Date.now() + 600_000);
      expect(await api.deps.gameSessionWriter.requestSave(id, ahead)).to.equal(true);
      expect((await player.post("/api/game/save", { sessionId: id })).status).to.equal(202);
      expect(Date.parse((await operator.session(id)).spec.saveRequestedAt!)).to.be.above(ahead.getTime());
    });

    it("rejects sessions that are not running and those of other players", async () => {
      const id = await fixture.launched();
      expectErrorResponse(await player.post("/api/game/save", { sessionId: id }), 409, "not_running");
      await fixture.newPlayer();
      expectErrorResponse(await fixture.player.post("/api/game/save", { sessionId: id }), 404, "not_found");
    });
  });

  describe("GET /api/game/session-status", () => {
    it("shows the stages of a launch, the stream while it runs, and the end with its reason", async () => {
      const node = await operator.addNode(1, {
        cache: {
          capacityBytes: 1,
          freeBytes: 0,
          entries: [
            { digest: game.sha256!, state: "Downloading", bytes: 0, progressPercent: 42, inUse: true },
          ],
        },
      });
      const id = await fixture.launched();
      expect(await statusOf(id)).to.deep.include({
        sessionId: id,
        status: "starting",
        stage: "scheduling",
        serverUrl: `${api.url}/api/stream`,
        containerUrl: null,
        gameTitle: game.title,
      });
      const passed = [aCondition("Scheduled")];
      const steps = [
        ["ContentReady", { stage: "downloading", progressPercent: 42 }],
        ["SaveRestored", { stage: "restoring" }],
        ["PodReady", { stage: "booting" }],
        ["StreamReady", { stage: "connecting" }],
      ] as const;
      for (const [next, shown] of steps) {
        await operator.report(id, { nodeName: node, conditions: passed });
        await eventually(async () => expect(await statusOf(id)).to.include({ status: "starting", ...shown }));
        passed.push(aCondition(next));
      }
      await operator.makeReady(id, { node });
      await eventually(async () =>
        expect(await statusOf(id)).to.include({
          status: "running",
          containerUrl: `${api.url}/api/stream/${id}`,
        }),
      );
      await operator.finish(id, { stopReason: "GameExited", usage });
      await eventually(async () =>
        expect(await statusOf(id)).to.include({
          status: "stopped",
          containerUrl: null,
          endReason: "game_exited",
        }),
      );
    });

    it("shows a failed launch as error and frees player and slot", async () => {
      const id = await fixture.launched();
      await operator.report(id, { nodeName: "n", conditions: [aCondition("Scheduled")] });
      await operator.finish(id, {
        stopReason: "Failed",
        failure: { reason: "DownloadTimeout", message: "secret detail" },
      });
      await eventually(async () =>
        expect(await statusOf(id)).to.include({ status: "error", endReason: "failed" }),
      );
      expect(JSON.stringify(await statusOf(id))).not.to.contain("secret detail");
      expect(await api.deps.postgres.prisma.saveSlot.count({ where: { userId: user.id } })).to.equal(0);
      await fixture.launched();
    });

    it("shows a session whose node was lost as stopped, never as error", async () => {
      const id = await fixture.running();
      await operator.finish(id, { stopReason: "NodeLost", failure: { reason: "NodeLost", message: "gone" } });
      await eventually(async () =>
        expect(await statusOf(id)).to.include({ status: "stopped", endReason: "server_lost" }),
      );
    });

    it("admits only the owner, and forgets an ended session after a day", async () => {
      const id = await fixture.launched();
      expectErrorResponse(
        await api.anonymous().get(`/api/game/session-status?sessionId=${id}`),
        401,
        "unauthorized",
      );
      expectErrorResponse(
        await api.as(await aUser(api.deps)).get(`/api/game/session-status?sessionId=${id}`),
        404,
        "not_found",
      );
      expectErrorResponse(await player.get("/api/game/session-status"), 400, "invalid_request");
      expectErrorResponse(await player.get("/api/game/session-status?sessionId=gs-none"), 404, "not_found");
      await operator.finish(id);
      await fixture.ended(id);
      await api.deps.postgres.prisma.gameSession.update({
        where: { id },
        data: { endedAt: new Date(Date.now() - 25 * 3600_000) },
      });
      expectErrorResponse(await player.get(`/api/game/session-status?sessionId=${id}`), 404, "not_found");
    });
  });

  describe("POST /api/game/keepalive", () => {
    it("extends the expiry by one idle timeout, never backwards, without a cluster write", async () => {
      const id = await fixture.running();
      const { resourceVersion } = (await operator.session(id)).metadata;
      const response = await player.post("/api/game/keepalive", { sessionId: id });
      expect(response.status).to.equal(200);
      const { status, expiresAt } = response.json<{ status: string; expiresAt: string }>();
      expect(status).to.equal("ok");
      expect(new Date(expiresAt).getTime()).to.be.within(Date.now() + 1_790_000, Date.now() + 1_801_000);
      const later = new Date(Date.now() + 3_600_000);
      await api.deps.postgres.prisma.gameSession.update({ where: { id }, data: { expiresAt: later } });
      const again = await player.post("/api/game/keepalive", { sessionId: id });
      expect(again.json()).to.include({ expiresAt: later.toISOString() });
      // The row now expires later than the object: the backstop follows, once.
      const moved = await eventually(async () => {
        const {
          spec: { expiresAt: backstop },
          metadata,
        } = await operator.session(id);
        return metadata.resourceVersion === resourceVersion ? undefined : backstop;
      });
      expect(new Date(moved).getTime()).to.be.above(later.getTime());
    });

    it("finds neither other players' nor ended sessions", async () => {
      const id = await fixture.launched();
      expect((await player.post("/api/game/keepalive", { sessionId: id })).status).to.equal(200);
      expectErrorResponse(
        await api.anonymous().post("/api/game/keepalive", { sessionId: id }),
        401,
        "unauthorized",
      );
      expectErrorResponse(
        await api.as(await aUser(api.deps)).post("/api/game/keepalive", { sessionId: id }),
        404,
        "not_found",
      );
      expectErrorResponse(await player.post("/api/game/keepalive", { id }), 400, "invalid_request");
      await operator.finish(id);
      await fixture.ended(id);
      expectErrorResponse(await player.post("/api/game/keepalive", { sessionId: id }), 404, "not_found");
    });
  });

  describe("POST /api/game/stop", () => {
    it("returns the same statistics to concurrent and later stops, and records save and usage once", async () => {
      const { prisma } = api.deps.postgres;
      const id = await fixture.running();
      const before = await prisma.game.findUniqueOrThrow({ where: { id: game.id } });
      const { saveSlot } = (await operator.session(id)).spec;
      const objectKey = saveKey(saveSlot.slotId, { generation: 1, gameSession: id, sequence: 1, attempt: 1 });
      const save = {
        objectKey,
        sha256: "a".repeat(64),
        bytes: 10,
        generation: 1,
        sequence: 1,
        persistedAt: new Date().toISOString(),
        final: true,
      };
      const ended = finishOnStop(id, { save });
      const responses = await Promise.all(
        Array.from({ length: 20 }, () => player.post("/api/game/stop", { sessionId: id })),
      );
      await ended;
      for (const response of responses) {
        expect(response.status, response.text).to.equal(200);
        expect(response.json()).to.deep.equal(statistics);
      }
      expect((await player.post("/api/game/stop", { sessionId: id })).json()).to.deep.equal(statistics);
      const { spec, metadata } = await operator.session(id);
      expect(spec.stopReason).to.equal("UserRequested");
      expect(metadata.generation, "changes of the object's spec").to.equal(2);
      const [slot, ...others] = await prisma.saveSlot.findMany({ where: { userId: user.id } });
      expect(slot).to.include({
        generation: 1,
        savedBySession: id,
        objectKey: save.objectKey,
      });
      expect(others).to.be.empty;
      const { profileSessions, profileCpuMillicores } = await prisma.game.findUniqueOrThrow({
        where: { id: game.id },
      });
      expect(profileSessions).to.equal(before.profileSessions + 1);
      expect(profileCpuMillicores).to.be.within(1, 1000);
    });

    it("cancels a launch with zero statistics and frees the slot", async () => {
      const id = await fixture.launched();
      const ended = eventually(async () => (await operator.session(id)).spec.desiredState === "Stopped").then(
        () => operator.finish(id),
      );
      const response = await player.post("/api/game/stop", { sessionId: id });
      await ended;
      expect(response.json()).to.deep.equal({
        status: "stopped",
        duration: 0,
        cpuSeconds: 0,
        peakMemoryMb: 0,
      });
      expect(await statusOf(id)).to.include({ status: "stopped", endReason: "user_requested" });
      expect(await api.deps.postgres.prisma.saveSlot.count({ where: { userId: user.id } })).to.equal(0);
    });

    it("returns 202 while the stop takes long, then the statistics", async () => {
      const id = await fixture.running();
      const pending = await player.post("/api/game/stop", { sessionId: id });
      expect(pending.status).to.equal(202);
      expect(pending.json()).to.deep.equal({ status: "stopping" });
      expect(await statusOf(id)).to.include({ status: "stopping", containerUrl: null });
      expectErrorResponse(
        await player.post("/api/game/launch", { gameSlug: game.slug }),
        409,
        "session_active",
      );
      await operator.finish(id, { usage });
      expect((await player.post("/api/game/stop", { sessionId: id })).json()).to.deep.equal(statistics);
    });

    it("admits only the owner", async () => {
      const id = await fixture.running();
      expectErrorResponse(
        await api.anonymous().post("/api/game/stop", { sessionId: id }),
        401,
        "unauthorized",
      );
      expectErrorResponse(
        await api.as(await aUser(api.deps)).post("/api/game/stop", { sessionId: id }),
        404,
        "not_found",
      );
      expectErrorResponse(await player.post("/api/game/stop", {}), 400, "invalid_request");
      expect((await fixture.rowOf(id)).status).to.equal("running");
    });
  });

  describe("disabling a player", () => {
    it("signs them out and stops their session with its save", async () => {
      const sessionId = await fixture.running();
      const ended = finishOnStop(sessionId);
      const announce = (ids: readonly string[]) =>
        api.deps.authSessions.announceRevoked(ids).then(() => true);
      const disabled = await disableUser({ ...api.deps, announce }, user.email);
      expect(disabled).to.deep.include({ stoppedSessionId: sessionId, endedSignIns: 1 });
      expectErrorResponse(await player.get("/api/games"), 401, "unauthorized");
      await recordGameSession(api.deps, sessionId); // As the leader does within 15 seconds.
      await ended;
      await fixture.ended(sessionId);
      expect(await fixture.rowOf(sessionId)).to.include({ status: "stopped", stopReason: "Deleted" });
    });
  });

  describe("GET /api/game/sessions", () => {
    it("lists the player's active session and nobody else's", async () => {
      expect((await player.get("/api/game/sessions")).json()).to.deep.equal({ sessions: [] });
      expectErrorResponse(await api.anonymous().get("/api/game/sessions"), 401, "unauthorized");
      const id = await fixture.launched();
      const { startedAt } = await fixture.rowOf(id);
      const expectListed = async (status: string): Promise<void> => {
        expect((await player.get("/api/game/sessions")).json()).to.deep.equal({
          sessions: [
            {
              sessionId: id,
              gameSlug: game.slug,
              gameTitle: game.title,
              status,
              startedAt: startedAt.toISOString(),
            },
          ],
        });
      };
      await expectListed("starting");
      await operator.makeReady(id);
      await eventually(() => expectListed("running").then(() => true));
      await player.post("/api/game/stop", { sessionId: id });
      await expectListed("stopping");
      expect((await api.as(await aUser(api.deps)).get("/api/game/sessions")).json()).to.deep.equal({
        sessions: [],
      });
    });
  });
});
