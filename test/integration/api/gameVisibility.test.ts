import { expect } from "chai";
import { GamesResponse } from "#contracts/http/catalog.ts";
import { aGame, aPartner, aSaveSlot, type TestGame, type TestPartner } from "#test/factories/catalog.ts";
import { LaunchFixture } from "#test/support/fixtures/launchFixture.ts";
import { expectErrorResponse, type ApiClient } from "#test/support/http/apiClient.ts";

describe("a private game", function () {
  this.timeout(60_000);
  let fixture: LaunchFixture;
  let partner: TestPartner;
  let client: ApiClient;
  let game: TestGame;

  before(async () => {
    fixture = await LaunchFixture.start({ env: { CATALOG_REQUESTS_PER_MINUTE: "10000" } });
    partner = await aPartner(fixture.api.deps);
    client = fixture.api.asPartner(partner);
  });
  beforeEach(async () => {
    await fixture.newPlayer();
    game = await aGame(fixture.api.deps, { partnerId: partner.id, title: "Hidden Gem", tags: ["gem"] });
  });
  after(() => fixture.stop());

  async function setVisibility(visibility: "public" | "private" | null): Promise<void> {
    const response = await client.patch(`/api/partners/games/${game.slug}`, { visibility });
    expect(response.status, response.text).to.equal(200);
    expect(response.json()).to.include({ visibility: visibility ?? "public", status: "active" });
  }

  async function isIn(query: string): Promise<boolean> {
    const response = await fixture.player.get(`/api/games?limit=50&${query}`);
    const { games, pagination } = GamesResponse.parse(response.json());
    expect(pagination.total, query).to.equal(games.length);
    return games.some(({ id }) => id === game.id);
  }

  const queries = [
    "sort=title",
    "search=Hidden",
    "search=hi",
    "tag=gem",
    "sort=popular&order=desc",
    "favorites=true",
    "sort=lastPlayed",
    "sort=lastPlayed&search=Hidden",
    "favorites=true&search=Hidden",
  ];

  it("is 404 everywhere to players, and returns when it is public again", async () => {
    const { player } = fixture;
    const saves = `/api/games/${game.slug}/saves`;
    expect((await player.post("/api/favorites", { gameId: game.id })).status).to.equal(200);
    for (const query of queries) expect(await isIn(query), query).to.equal(true);
    await setVisibility("private");
    for (const query of queries) expect(await isIn(query), query).to.equal(false);
    expectErrorResponse(await player.get(`/api/games/${game.slug}`), 404, "not_found");
    expectErrorResponse(await player.post("/api/game/launch", { gameSlug: game.slug }), 404, "not_found");
    expectErrorResponse(await player.post("/api/favorites", { gameId: game.id }), 404, "not_found");
    expectErrorResponse(await player.get(saves), 404, "not_found");
    await setVisibility(null);
    for (const query of queries) expect(await isIn(query), query).to.equal(true);
    expect((await player.get(saves)).status).to.equal(200);
  });

  it("goes on in running sessions, and its players keep their saves", async () => {
    const { player } = fixture;
    const sessionId = await fixture.launched({ gameSlug: game.slug });
    await fixture.makeReady(sessionId);
    await setVisibility("private");
    const status = await player.get(`/api/game/session-status?sessionId=${sessionId}`);
    expect(status.json()).to.include({ status: "running", gameTitle: "Hidden Gem" });
    expect((await player.post("/api/game/keepalive", { sessionId })).status).to.equal(200);
    expect((await player.get(`/api/games/${game.slug}/saves`)).status).to.equal(200);
    const other = await aGame(fixture.api.deps, { visibility: "private" });
    await aSaveSlot(fixture.api.deps, { user: fixture.user, game: other });
    expectErrorResponse(await player.post("/api/game/launch", { gameSlug: other.slug }), 404, "not_found");
  });

  it("can be registered as one", async () => {
    const metadata = { title: "Quiet", developer: "Studio", launcher: "run.sh", engineDir: "engine" };
    const registered = await client.post("/api/partners/games", {
      ...metadata,
      visibility: "private",
      autoActivate: false,
    });
    expect(registered.status, registered.text).to.equal(201);
    const { slug } = registered.json<{ slug: string }>();
    expect((await client.get(`/api/partners/games/${slug}`)).json()).to.include({
      visibility: "private",
      autoActivate: false,
    });
    expectErrorResponse(
      await client.patch(`/api/partners/games/${slug}`, { visibility: "hidden" }),
      400,
      "invalid_request",
    );
  });
});
