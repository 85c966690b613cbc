import { expect } from "chai";
import type { GameSessionStatusResponse } from "#contracts/http/gameSessions.ts";
import type { PlayLimitsResponse } from "#contracts/http/playLimits.ts";
import { findPlayedTime } from "#api/gameSessions/playLimits/playLimitQueries.ts";
import { addToGroup, createGroup } from "#api/groups/groups.ts";
import { aGame, aGameSessionRow, aUser } from "#test/factories/catalog.ts";
import { expectErrorResponse } from "#test/support/http/apiClient.ts";
import { LaunchFixture } from "#test/support/fixtures/launchFixture.ts";
import { runJoypod } from "#test/support/processes/joypod.ts";

const hourMs = 3_600_000;
/** One in which today began at least ten hours ago, so that the hours played are in today's month. */
const timeZone = new Date().getUTCHours() < 10 ? "Pacific/Kiritimati" : "UTC";

describe("limits of the play time", function () {
  this.timeout(60_000);
  let fixture: LaunchFixture;

  before(async () => {
    // Longer than a day and the month's time, which follow each other on the last day of a month.
    const MAX_DURATION_SECONDS = String(7 * 86_400);
    fixture = await LaunchFixture.start({
      env: {
        PLAY_HOURS_PER_DAY: "24",
        PLAY_HOURS_PER_MONTH: "2.5",
        PLAY_LIMIT_TIME_ZONE: timeZone,
        MAX_DURATION_SECONDS,
      },
    });
  });
  beforeEach(() => fixture.newPlayer());
  after(() => fixture.stop());

  /** Stores an ended session that was played for this time until just now. */
  async function play(hours: number): Promise<void> {
    const { api, user, game } = fixture;
    const now = Date.now();
    await aGameSessionRow(
      api.deps,
      { user, game },
      {
        slotId: null,
        status: "stopped",
        startedAt: new Date(now - hours * hourMs),
        readyAt: new Date(now - hours * hourMs),
        stoppingAt: new Date(now),
        endedAt: new Date(now),
      },
    );
  }

  async function limitsOf(): Promise<PlayLimitsResponse["limits"]> {
    const response = await fixture.player.get("/api/game/play-limits");
    expect(response.status, response.text).to.equal(200);
    return response.json<PlayLimitsResponse>().limits;
  }

  it("shorten a session to the time that is left, and are shown before and while it runs", async () => {
    const [day, month] = await limitsOf();
    expect(day).to.deep.include({ period: "day", limitSeconds: 24 * 3600, remainingSeconds: 24 * 3600 });
    expect(month).to.deep.include({ period: "month", limitSeconds: 9000, playedSeconds: 0 });
    const id = await fixture.running();
    const { spec, readyAt } = await fixture.rowOf(id);
    const { maxDurationSeconds } = spec as { maxDurationSeconds: number };
    expect(maxDurationSeconds).to.be.within(9000, 9000 + 86_400);
    const endsAt = new Date((readyAt?.getTime() ?? 0) + maxDurationSeconds * 1000).toISOString();
    const statusOf = async (): Promise<GameSessionStatusResponse> =>
      (
        await fixture.player.get(`/api/game/session-status?sessionId=${id}`)
      ).json<GameSessionStatusResponse>();
    expect(await statusOf()).to.include({ status: "running", playLimitEndsAt: endsAt });
    await fixture.operator.finish(id, { stopReason: "MaxDuration" });
    await fixture.ended(id);
    expect(await statusOf()).to.deep.include({
      endReason: "play_limit",
      message: "Your play time is used up. Your progress is saved.",
    });
  });

  it("refuse a launch without time left until the period ends", async () => {
    const { player, game } = fixture;
    const { pool } = fixture.api.deps.postgres;
    const { monthEndsAt, now } = await findPlayedTime(pool, fixture.user.id, timeZone);
    await play(2.49);
    const refused = await player.post("/api/game/launch", { gameSlug: game.slug });
    expectErrorResponse(refused, 429, "play_limit_reached");
    const retryAfter = Number(refused.headers.get("retry-after"));
    expect(retryAfter).to.be.closeTo((monthEndsAt.getTime() - now.getTime()) / 1000, 30);
    expect(refused.json<{ message: string }>().message).to.contain("2.5 hours of play per month");
  });

  it("of a group override the site's, the most generous one of several groups", async () => {
    const { api, user, player, game } = fixture;
    const joypod = async (...args: string[]): Promise<string> => {
      const env = { DATABASE_URL: api.database.url };
      const { code, stdout, stderr } = await runJoypod(["group", ...args], { env });
      expect(code, stderr).to.equal(0);
      return stdout;
    };
    const limitSeconds = async (): Promise<number[]> => (await limitsOf()).map((each) => each.limitSeconds);
    await play(2.49);
    for (const name of ["Guests", "Members"]) {
      await createGroup(api.deps, name);
      await addToGroup(api.deps, name, [user.email]);
    }
    expect(await limitSeconds()).to.deep.equal([24 * 3600, 2.5 * 3600]);
    await joypod("limit", "Guests", "--hours-per-day", "1");
    expect(await limitSeconds()).to.deep.equal([3600, 2.5 * 3600]);
    expectErrorResponse(
      await player.post("/api/game/launch", { gameSlug: game.slug }),
      429,
      "play_limit_reached",
    );
    expect(await joypod("limit", "Members", "--hours-per-day", "3.5", "--hours-per-month", "40")).to.equal(
      "Play time of Members: 3.5 h per day, 40 h per month.\n",
    );
    expect(await limitSeconds()).to.deep.equal([3.5 * 3600, 40 * 3600]);
    const { spec } = await fixture.rowOf(await fixture.running());
    // What is left of the day, or with the next day's time in its last hours.
    expect((spec as { maxDurationSeconds: number }).maxDurationSeconds).to.be.within(3600, 5 * 3600);
    await joypod("limit", "Members", "--hours-per-month", "none");
    expect(await limitSeconds()).to.deep.equal([3.5 * 3600, 2.5 * 3600]);
    expect(JSON.parse(await joypod("show", "Members", "--json"))).to.deep.include({
      playSecondsPerDay: 3.5 * 3600,
      playSecondsPerMonth: null,
    });
    expect(await joypod("list", "--search", "members")).to.match(
      /PLAY TIME +CREATED\nMembers .* 3\.5 h per day /,
    );
    const env = { DATABASE_URL: api.database.url };
    for (const hours of ["0", "25", "two"])
      expect(
        (await runJoypod(["group", "limit", "Members", "--hours-per-day", hours], { env })).code,
      ).to.equal(2);
  });

  it("count from when a game can be played until it is asked to stop, in the site's time zone", async () => {
    const { deps } = fixture.api;
    const { pool } = deps.postgres;
    const [user, game] = [await aUser(deps), await aGame(deps)];
    for (const timeZone of ["UTC", "Pacific/Kiritimati"]) {
      const { dayEndsAt, monthEndsAt, now } = await findPlayedTime(pool, user.id, timeZone);
      expect(dayEndsAt.getTime() - now.getTime()).to.be.within(1, 25 * hourMs);
      expect(monthEndsAt >= dayEndsAt).to.equal(true);
    }
    const { dayEndsAt } = await findPlayedTime(pool, user.id, "UTC");
    const midnight = dayEndsAt.getTime() - 24 * hourMs;
    const at = (hours: number): Date => new Date(midnight + hours * hourMs);
    await aGameSessionRow(
      deps,
      { user, game },
      {
        slotId: null,
        status: "stopped",
        startedAt: at(-3),
        readyAt: at(-2),
        stoppingAt: at(-1),
        endedAt: at(0),
      },
    );
    await aGameSessionRow(deps, { user, game }, { slotId: null, readyAt: at(-0.5) });
    const { daySeconds, now } = await findPlayedTime(pool, user.id, "UTC");
    expect(daySeconds).to.be.closeTo((now.getTime() - midnight) / 1000, 2);
  });
});
