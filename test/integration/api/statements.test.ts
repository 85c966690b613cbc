import { expect } from "chai";
import { aUser, type TestGame } from "../../factories/catalog.ts";
import type { TestApi } from "../../support/http/api.ts";
import type { ApiClient } from "../../support/http/apiClient.ts";
import { eventually } from "../../support/clocks/eventually.ts";
import { LaunchStage } from "../../support/fixtures/launchFixture.ts";
import { startReplica, stopReplica } from "../../support/http/replica.ts";
import { StatementLog } from "../../support/stores/statementLog.ts";

describe("statements per request", function () {
  this.timeout(60_000);
  let stage: LaunchStage;
  let replica: TestApi;
  let game: TestGame;
  let player: ApiClient;
  let log: StatementLog;

  before(async () => {
    stage = await LaunchStage.start();
    ({ game } = stage);
    replica = await startReplica(stage.api);
    await eventually(() => replica.deps.cluster.gameNodes.cache.list().some(({ status }) => status?.capacity !== undefined));
    log = new StatementLog(replica.deps.postgres.pool);
  });
  beforeEach(async () => {
    player = replica.as(await aUser(replica.deps));
    // From now on Redis knows the sign-in.
    await player.get("/api/auth/session");
  });
  after(async () => {
    await stopReplica(replica);
    await stage.stop();
  });

  const key = { "idempotency-key": "the-key" };

  function launch(headers: Record<string, string> = {}) {
    return player.post("/api/game/launch", { gameSlug: game.slug }, headers);
  }

  it("launches with five, and two more for a key", async () => {
    expect(await log.during(launch)).to.deep.equal([
      "BEGIN", "SELECT pg_advisory_xact_lock($1)", "launch-world", "insert-game-session", "COMMIT",
    ]);
    player = replica.as(await aUser(replica.deps));
    await player.get("/api/auth/session");
    expect(await log.during(() => launch(key))).to.deep.equal([
      "idempotency.claim", "BEGIN", "SELECT pg_advisory_xact_lock($1)", "launch-world", "insert-game-session", "idempotency.remember", "COMMIT",
    ]);
    expect(await log.during(() => launch(key))).to.deep.equal(["idempotency.claim", "idempotency.find"]);
  });

  it("keeps alive, tells the status and lists sessions with one each", async () => {
    const { sessionId } = (await launch()).json<{ sessionId: string }>();
    expect(await log.during(() => player.post("/api/game/keepalive", { sessionId }))).to.deep.equal(["extend-game-session"]);
    expect(await log.during(() => player.get(`/api/game/session-status?sessionId=${sessionId}`))).to.deep.equal(["find-game-session"]);
    expect(await log.during(() => player.get("/api/game/sessions"))).to.deep.equal(["list-active-game-sessions"]);
  });

  it("shows the catalogue, a search and a game with one each", async () => {
    expect(await log.during(() => player.get("/api/games"))).to.deep.equal(["catalog.title.asc.all"]);
    expect(await log.during(() => player.get("/api/games?search=something&tag=x&sort=popular&order=desc"))).to.deep.equal(["catalog.popular.desc.search.tag"]);
    expect(await log.during(() => player.get(`/api/games/${game.slug}`))).to.deep.equal(["catalog.detail"]);
  });

  it("turns a favourite over with one, and four more for a key", async () => {
    expect(await log.during(() => player.post("/api/favorites", { gameId: game.id }))).to.deep.equal(["favorites.toggle"]);
    expect(await log.during(() => player.post("/api/favorites", { gameId: game.id }, key))).to.deep.equal([
      "idempotency.claim", "BEGIN", "favorites.toggle", "idempotency.remember", "COMMIT",
    ]);
  });

  it("stops with a handful, however long it waits", async () => {
    const { sessionId } = (await launch()).json<{ sessionId: string }>();
    const ended = eventually(async () => (await stage.operator.session(sessionId)).spec.desiredState === "Stopped").then(() => stage.operator.finish(sessionId));
    const statements = await log.during(() => player.post("/api/game/stop", { sessionId }));
    await ended;
    expect(statements.slice(0, 2)).to.deep.equal(["begin-stop", "find-game-session"]);
    expect(statements.length).to.be.within(3, 6);
    expect(await log.during(() => player.post("/api/game/stop", { sessionId }))).to.deep.equal(["begin-stop", "find-game-session"]);
  });
});
