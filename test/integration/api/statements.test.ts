import { expect } from "chai";
import { launchGame } from "#api/gameSessions/launching/launchGame.ts";
import { addToGroup, createGroup, limitGroup } from "#api/groups/groups.ts";
import { aUser, type TestGame } from "#test/factories/catalog.ts";
import type { TestApi } from "#test/support/http/api.ts";
import type { ApiClient } from "#test/support/http/apiClient.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { LaunchFixture } from "#test/support/fixtures/launchFixture.ts";
import { startReplica, stopReplica } from "#test/support/http/replica.ts";
import { StatementLog } from "#test/support/stores/statementLog.ts";

describe("SQL statements per request", function () {
  this.timeout(60_000);
  let fixture: LaunchFixture;
  let replica: TestApi;
  let game: TestGame;
  let player: ApiClient;
  let log: StatementLog;

  before(async () => {
    fixture = await LaunchFixture.start();
    ({ game } = fixture);
    replica = await startReplica(fixture.api);
    await eventually(() =>
      replica.deps.cluster.gameNodes.cache.list().some(({ status }) => status?.capacity !== undefined),
    );
    log = new StatementLog(replica.deps.postgres.pool);
  });
  beforeEach(async () => {
    player = replica.as(await aUser(replica.deps));
    // From now on Redis knows the sign-in.
    await player.get("/api/auth/session");
  });
  after(async () => {
    await stopReplica(replica);
    await fixture.stop();
  });

  const key = { "idempotency-key": "the-key" };

  /** A player whose sign-in Redis knows. */
  async function signedIn(): Promise<ApiClient> {
    const one = replica.as(await aUser(replica.deps));
    await one.get("/api/auth/session");
    return one;
  }

  function launch(headers: Record<string, string> = {}) {
    return player.post("/api/game/launch", { gameSlug: game.slug }, headers);
  }

  it("are those of one launch for many equal concurrent launches of a player", async () => {
    const { id } = await aUser(replica.deps);
    const launches = (): Promise<unknown> =>
      Promise.allSettled(
        Array.from({ length: 8 }, () => launchGame(replica.deps, id, { gameSlug: game.slug })),
      );
    expect(await log.during(launches)).to.have.length(5);
  });

  it("are five for a launch, and two more with a key", async () => {
    expect(await log.during(launch)).to.have.length(5);
    player = replica.as(await aUser(replica.deps));
    await player.get("/api/auth/session");
    expect(await log.during(() => launch(key))).to.have.length(7);
    expect(await log.during(() => launch(key)), "the repeated request").to.have.length(2);
  });

  it("are five for a launch on a site whose groups have limits, and one more for their members", async () => {
    const { deps } = replica;
    const member = await aUser(deps);
    await createGroup(deps, "Limited");
    await limitGroup(deps, "Limited", { perDay: 2, perMonth: undefined });
    await addToGroup(deps, "Limited", [member.email]);
    expect(await log.during(launch)).to.have.length(5);
    player = replica.as(member);
    await player.get("/api/auth/session");
    expect(await log.during(launch)).to.have.length(6);
  });

  it("are one each for keepalive, status and list of sessions", async () => {
    const { sessionId } = (await launch()).json<{ sessionId: string }>();
    for (const request of [
      () => player.post("/api/game/keepalive", { sessionId }),
      () => player.get(`/api/game/session-status?sessionId=${sessionId}`),
      () => player.get("/api/game/sessions"),
    ])
      expect(await log.during(request)).to.have.length(1);
  });

  it("are one each for the catalogue, a search and a game", async () => {
    for (const path of [
      "/api/games",
      "/api/games?search=something&tag=x&sort=popular&order=desc",
      `/api/games/${game.slug}`,
    ])
      expect(await log.during(() => player.get(path)), path).to.have.length(1);
  });

  it("are one for toggling a favourite, and four more with a key", async () => {
    expect(await log.during(() => player.post("/api/favorites", { gameId: game.id }))).to.have.length(1);
    expect(await log.during(() => player.post("/api/favorites", { gameId: game.id }, key))).to.have.length(5);
  });

  it("are a handful for a stop, however long it waits", async () => {
    const { sessionId } = (await launch()).json<{ sessionId: string }>();
    const ended = eventually(
      async () => (await fixture.operator.session(sessionId)).spec.desiredState === "Stopped",
    ).then(() => fixture.operator.finish(sessionId));
    const statements = await log.during(() => player.post("/api/game/stop", { sessionId }));
    await ended;
    expect(statements.length).to.be.within(3, 6);
    expect(await log.during(() => player.post("/api/game/stop", { sessionId })), "repeated").to.have.length(
      2,
    );
  });

  it("take the launch lock once for many stored launches, and never for others: 200 players launch eight times each at once", async () => {
    await fixture.addNode(200);
    const players: ApiClient[] = [];
    while (players.length < 200) players.push(...(await Promise.all(Array.from({ length: 20 }, signedIn))));
    await eventually(
      () =>
        replica.deps.cluster.gameNodes.cache
          .list()
          .reduce((sum, { status }) => sum + (status?.capacity?.slots ?? 0), 0) >= 300,
    );
    const launchAll = async (
      each: number,
    ): Promise<{ statuses: number[][]; locks: number; stored: number }> => {
      const statuses = players.map((): number[] => []);
      const statements = await log.during(() =>
        Promise.all(
          players.flatMap((one, index) =>
            Array.from({ length: each }, async () => {
              const { status } = await one.post("/api/game/launch", { gameSlug: game.slug });
              statuses[index]?.push(status);
            }),
          ),
        ),
      );
      const count = (part: string): number =>
        statements.filter((statement) => statement.includes(part)).length;
      return { statuses, locks: count("advisory_xact_lock"), stored: count("insert-game-session") };
    };
    const first = await launchAll(8);
    for (const each of first.statuses)
      expect(each.toSorted((a, b) => a - b)).to.deep.equal([202, 409, 409, 409, 409, 409, 409, 409]);
    expect(first.locks, "fewer than the players").to.equal(first.stored).and.be.within(4, 190);
    const second = await launchAll(1);
    expect(second.statuses).to.deep.equal(players.map(() => [409]));
    expect([second.locks, second.stored]).to.deep.equal([0, 0]);
  });
});
