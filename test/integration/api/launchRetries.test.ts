import { expect } from "chai";
import { aUser } from "#test/factories/catalog.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { expectErrorResponse, type ApiResponse } from "#test/support/http/apiClient.ts";
import { LaunchFixture } from "#test/support/fixtures/launchFixture.ts";

const path = "/api/game/launch";
const pollsPerMinute = 15;

describe("launches that are retried after Retry-After", function () {
  this.timeout(60_000);
  let fixture: LaunchFixture;

  before(async () => {
    const env = {
      LAUNCHES_PER_HOUR: "2",
      POLLS_PER_MINUTE: String(pollsPerMinute),
      DATABASE_TIMEOUT_MS: "3000",
    };
    fixture = await LaunchFixture.start({ slots: 0, env, hasFaults: true });
  });
  after(() => fixture.stop());

  function launch(key: string): Promise<ApiResponse> {
    return fixture.player.post(path, { gameSlug: fixture.game.slug }, { "idempotency-key": key });
  }

  /** Does what it is given while nobody can write to the table. */
  async function whileLocked(table: string, work: () => Promise<void>): Promise<void> {
    const locked = await fixture.api.deps.postgres.pool.connect();
    try {
      await locked.query("BEGIN");
      await locked.query(`LOCK TABLE ${table} IN SHARE ROW EXCLUSIVE MODE`);
      await work();
    } finally {
      await locked.query("ROLLBACK");
      locked.release();
    }
  }

  it("do not count against the hourly limit while all game servers are in use", async () => {
    await fixture.newPlayer();
    for (let count = 0; count < 3; count++) {
      const response = await fixture.player.post(path, { gameSlug: fixture.game.slug });
      expectErrorResponse(response, 503, "no_servers");
      expect(response.headers.get("ratelimit"), "what the response says is left").to.contain(
        '"launchHourly";r=2',
      );
    }
    await fixture.addNode(1);
    await fixture.launched();
  });

  it("count neither per minute nor per hour while their launch is in progress, and have the rate limit of polls", async () => {
    await fixture.newPlayer();
    await fixture.addNode(1);
    const isBegun = async (): Promise<boolean> =>
      (await fixture.api.deps.postgres.prisma.idempotencyKey.count({
        where: { principal: `user:${fixture.user.id}` },
      })) === 1;
    let first: Promise<ApiResponse> | undefined;
    await whileLocked("game_sessions", async () => {
      first = launch("held");
      await eventually(isBegun, { what: "the launch to be under way" });
      for (let count = 0; count < pollsPerMinute; count++) {
        const response = await launch("held");
        expectErrorResponse(response, 409, "conflict");
        expect(response.headers.get("ratelimit"), "what the response says is left").to.match(
          /"launch";r=9;.*"launchHourly";r=1;/,
        );
      }
      const refused = await launch("held");
      expectErrorResponse(refused, 429, "rate_limited");
      expect(refused.headers.get("ratelimit")).to.match(/"launchHourly";r=1;.*"poll";r=0;/);
    });
    expect((await first)?.status).to.equal(202);
  });

  it("do not count against the hourly limit while the database is unavailable", async () => {
    await fixture.newPlayer();
    await fixture.player.get("/api/game/sessions");
    await whileLocked("idempotency_keys", async () => {
      const response = await launch("away");
      expectErrorResponse(response, 503, "unavailable");
      expect(response.headers.get("ratelimit"), "what the response says is left").to.contain(
        '"launchHourly";r=2',
      );
    });
  });

  it("count against it if a retry is pointless", async () => {
    const player = fixture.api.as(await aUser(fixture.api.deps));
    for (let count = 0; count < 2; count++)
      expectErrorResponse(await player.post(path, { gameSlug: "no-such" }), 404, "not_found");
    expectErrorResponse(await player.post(path, { gameSlug: "no-such" }), 429, "rate_limited");
  });
});
