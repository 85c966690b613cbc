import { expect } from "chai";
import { limits } from "#contracts/limits.ts";
import { sweepIdempotencyKeys } from "#api/http/idempotencyQueries.ts";
import {
  aGame,
  aGameSessionRow,
  aPartner,
  aSaveSlot,
  aUser,
  type TestGame,
  type TestUser,
} from "#test/factories/catalog.ts";
import type { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse, type ApiClient, type ApiResponse } from "#test/support/http/apiClient.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { JumpClock } from "#test/support/clocks/jumpClock.ts";
import { LaunchFixture } from "#test/support/fixtures/launchFixture.ts";

describe("Idempotency-Key", function () {
  this.timeout(60_000);
  const clock = new JumpClock();
  let fixture: LaunchFixture;
  let api: TestApi;
  let game: TestGame;
  let user: TestUser;
  let player: ApiClient;

  before(async () => {
    fixture = await LaunchFixture.start({
      clock,
      slots: 0,
      env: { CATALOG_REQUESTS_PER_MINUTE: "10000", LAUNCHES_PER_MINUTE: "100" },
    });
    ({ api, game } = fixture);
  });
  beforeEach(async () => {
    await fixture.newPlayer();
    ({ user, player } = fixture);
  });
  after(() => fixture.stop());

  function toggle(key: string, as = player, gameId = game.id): Promise<ApiResponse> {
    return as.post("/api/favorites", { gameId }, { "idempotency-key": key });
  }

  function launch(key: string, gameSlug = game.slug, extra: object = {}): Promise<ApiResponse> {
    return player.post("/api/game/launch", { gameSlug, ...extra }, { "idempotency-key": key });
  }

  async function isFavorite(as = player): Promise<unknown> {
    return (await as.get(`/api/games/${game.slug}`)).json()["isFavorite"];
  }

  /** As if this much time had passed for the user's keys. */
  async function age(seconds: number): Promise<void> {
    await api.deps.postgres.pool.query(
      `UPDATE idempotency_keys SET created_at = created_at - make_interval(secs => $2), leased_until = leased_until - make_interval(secs => $2) WHERE principal = $1`,
      [`user:${user.id}`, seconds],
    );
  }

  describe("on POST /api/favorites", () => {
    it("toggles once and repeats the first response, marked as a replay", async () => {
      const first = await toggle("a-key");
      expect(first.json()).to.deep.equal({ status: "added", gameId: game.id });
      expect(first.headers.get("idempotency-replayed")).to.equal(null);
      for (const spelling of ["a-key", '"a-key"']) {
        const again = await toggle(spelling);
        expect(again.status).to.equal(200);
        expect(again.headers.get("idempotency-replayed")).to.equal("true");
        expect(again.headers.get("content-type")).to.match(/^application\/json/);
        expect(again.text).to.equal(first.text);
      }
      expect(await isFavorite()).to.equal(true);
      expect((await toggle("another-key")).json()).to.include({ status: "removed" });
      expect(await isFavorite()).to.equal(false);
    });

    it("toggles once however many requests arrive at once", async () => {
      const responses = await Promise.all(Array.from({ length: 20 }, () => toggle("crowd")));
      const done = responses.filter(({ status }) => status === 200);
      for (const waiting of responses.filter(({ status }) => status !== 200)) {
        expectErrorResponse(waiting, 409, "conflict");
        expect(waiting.headers.get("retry-after")).to.equal("1");
      }
      expect(done.filter(({ headers }) => headers.get("idempotency-replayed") === null)).to.have.length(1);
      expect((await toggle("crowd")).json()).to.include({ status: "added" });
      expect(await isFavorite()).to.equal(true);
    });

    it("refuses the key for a different request, and changes nothing", async () => {
      await toggle("mine");
      expectErrorResponse(
        await toggle("mine", player, (await aGame(api.deps)).id),
        422,
        "idempotency_key_reused",
      );
      expect(await isFavorite()).to.equal(true);
    });

    it("applies to one user and one route", async () => {
      const other = api.as(await aUser(api.deps));
      await toggle("shared");
      expect((await toggle("shared", other)).headers.get("idempotency-replayed")).to.equal(null);
      expect(await isFavorite(other)).to.equal(true);
      expectErrorResponse(await launch("shared", "no-such-game"), 404, "not_found");
    });

    it("refuses a malformed key before anything is done", async () => {
      for (const key of ['"open', "two words", "x".repeat(256), '""', "a, b"])
        expectErrorResponse(await toggle(key), 400, "invalid_request");
      expect(await isFavorite()).to.equal(false);
      expectErrorResponse(
        await player.post("/api/favorites", {}, { "idempotency-key": "bad-body" }),
        400,
        "invalid_request",
      );
      expect((await toggle("bad-body")).status).to.equal(200);
    });

    it("repeats error responses too", async () => {
      const slug = `late-${user.id.slice(0, 8)}`;
      const refused = await launch("early", slug);
      expectErrorResponse(refused, 404, "not_found");
      await aGame(api.deps, { slug });
      const again = await launch("early", slug);
      expectErrorResponse(again, 404, "not_found");
      expect(again.headers.get("idempotency-replayed")).to.equal("true");
      expect(again.json()["requestId"]).to.not.equal(refused.json()["requestId"]);
    });

    it("expires after a day", async () => {
      await toggle("old");
      await age(limits.idempotency.keptSeconds - 60);
      expect((await toggle("old")).headers.get("idempotency-replayed")).to.equal("true");
      await age(120);
      expect((await toggle("old")).json()).to.include({ status: "removed" });
      await toggle("older");
      await age(limits.idempotency.keptSeconds + 1);
      await sweepIdempotencyKeys(api.deps);
      const { rows } = await api.deps.postgres.pool.query(
        "SELECT 1 FROM idempotency_keys WHERE principal = $1",
        [`user:${user.id}`],
      );
      expect(rows).to.have.length(0);
    });

    it("is free after its lease if its process has died", async () => {
      await toggle("key");
      // As a process leaves it that dies before its transaction.
      await api.deps.postgres.pool.query("UPDATE idempotency_keys SET answer = NULL WHERE principal = $1", [
        `user:${user.id}`,
      ]);
      await api.deps.postgres.pool.query("DELETE FROM favorites WHERE user_id = $1", [user.id]);
      expectErrorResponse(await toggle("key"), 409, "conflict");
      await age(limits.idempotency.leaseSeconds);
      expect((await toggle("key")).json()).to.include({ status: "added" });
      expect((await toggle("key")).headers.get("idempotency-replayed")).to.equal("true");
    });

    it("keeps its lease while the request is in progress", async () => {
      const { pool } = api.deps.postgres;
      const locked = await pool.connect();
      try {
        await locked.query("BEGIN");
        await locked.query("LOCK TABLE favorites");
        const late = toggle("long");
        const leased = async (seconds: number): Promise<boolean> =>
          (
            await pool.query(
              "SELECT FROM idempotency_keys WHERE principal = $1 AND key = 'long' AND leased_until > now() + make_interval(secs => $2)",
              [`user:${user.id}`, seconds],
            )
          ).rowCount === 1;
        await eventually(() => leased(0), { what: "the request to begin" });
        for (let thirds = 0; thirds < 4; thirds++) {
          await age(limits.idempotency.leaseSeconds / 3);
          clock.jump((limits.idempotency.leaseSeconds * 1000) / 3);
          await eventually(() => leased(limits.idempotency.leaseSeconds * 0.9), {
            what: "the lease to be renewed",
          });
        }
        const repeated = await toggle("long");
        expectErrorResponse(repeated, 409, "conflict");
        expect(repeated.json()).to.include({
          message: "This request is still in progress. Try again in a moment.",
        });
        await locked.query("COMMIT");
        expect((await late).json()).to.include({ status: "added" });
      } finally {
        locked.release();
      }
      expect((await toggle("long")).headers.get("idempotency-replayed")).to.equal("true");
    });

    it("stores the change and its response in one transaction: a request that lost its lease changes nothing", async () => {
      const locked = await api.deps.postgres.pool.connect();
      try {
        await locked.query("BEGIN");
        await locked.query("LOCK TABLE favorites");
        const late = toggle("slow");
        const keyOf = "SELECT 1 FROM idempotency_keys WHERE principal = $1 AND key = 'slow'";
        await eventually(
          async () => (await api.deps.postgres.pool.query(keyOf, [`user:${user.id}`])).rowCount === 1,
        );
        await api.deps.postgres.pool.query(
          "UPDATE idempotency_keys SET attempt = 'another' WHERE principal = $1",
          [`user:${user.id}`],
        );
        await locked.query("COMMIT");
        expectErrorResponse(await late, 409, "conflict");
      } finally {
        locked.release();
      }
      expect(await isFavorite()).to.equal(false);
    });
  });

  describe("on POST /api/game/launch", () => {
    it("does not store a launch that failed because of missing servers, then launches once", async () => {
      expectErrorResponse(await launch("try"), 503, "no_servers");
      await fixture.addNode(20);
      const first = await launch("try");
      expect(first.status, first.text).to.equal(202);
      expect(first.headers.get("idempotency-replayed")).to.equal(null);
      const again = await launch("try");
      expect(again.status).to.equal(202);
      expect(again.json()).to.deep.equal(first.json());
      expect(again.headers.get("idempotency-replayed")).to.equal("true");
      expectErrorResponse(await launch("try", game.slug, { fresh: true }), 422, "idempotency_key_reused");
      expectErrorResponse(await launch("other"), 409, "session_active");
      expect(await api.deps.postgres.prisma.gameSession.count({ where: { userId: user.id } })).to.equal(1);
    });
  });

  it("does not store an error response with Retry-After", async () => {
    const slot = await aSaveSlot(api.deps, { user, game });
    const { id } = await aGameSessionRow(
      api.deps,
      { user, game },
      { slotId: slot.id, status: "stopped", endedAt: new Date(), slotReleasedAt: null },
    );
    const refused = await launch("wait", game.slug, { saveSlotId: slot.id });
    expectErrorResponse(refused, 409, "conflict");
    expect(refused.headers.get("retry-after")).to.equal("10");
    await api.deps.postgres.prisma.gameSession.update({
      where: { id },
      data: { slotReleasedAt: new Date() },
    });
    const again = await launch("wait", game.slug, { saveSlotId: slot.id });
    expect(again.headers.get("idempotency-replayed")).to.equal(null);
    expect(again.status, again.text).to.not.equal(409);
  });

  describe("on POST /api/partners/games", () => {
    it("registers once for all keys of the partner", async () => {
      const partner = api.asPartner(await aPartner(api.deps));
      const body = {
        slug: `once-${user.id.slice(0, 8)}`,
        title: "Once",
        developer: "Studio",
        launcher: "run.sh",
        engineDir: "engine",
      };
      const first = await partner.post("/api/partners/games", body, { "idempotency-key": "register" });
      expect(first.status, first.text).to.equal(201);
      const again = await partner.post("/api/partners/games", body, { "idempotency-key": "register" });
      expect(again.status).to.equal(201);
      expect(again.json()).to.deep.equal(first.json());
      expect(again.headers.get("location")).to.equal(first.headers.get("location"));
      expect(again.headers.get("idempotency-replayed")).to.equal("true");
      const changed = await partner.post(
        "/api/partners/games",
        { ...body, title: "Twice" },
        { "idempotency-key": "register" },
      );
      expectErrorResponse(changed, 422, "idempotency_key_reused");
      expect(changed.json()["message"]).to.be.a("string");
    });
  });
});
