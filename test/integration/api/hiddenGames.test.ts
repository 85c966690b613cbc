import { expect } from "chai";
import { aGame, aPartner, aSaveSlot, aUser, type TestGame } from "#test/factories/catalog.ts";
import { hideGame, unhideGame } from "#api/games/hideGames.ts";
import type { PartnerGameDetail, PartnerGamesResponse } from "#contracts/http/partners.ts";
import { LaunchFixture } from "#test/support/fixtures/launchFixture.ts";
import { expectErrorResponse, type ApiResponse } from "#test/support/http/apiClient.ts";
import { runJoypod } from "#test/support/processes/joypod.ts";

describe("a hidden game", function () {
  this.timeout(60_000);
  let fixture: LaunchFixture;
  let game: TestGame;

  before(async () => {
    fixture = await LaunchFixture.start();
    ({ game } = fixture);
  });
  beforeEach(() => fixture.newPlayer());
  afterEach(() => unhideGame(fixture.api.deps, game.slug));
  after(() => fixture.stop());

  const hide = (reason?: string) => hideGame(fixture.api.deps, game.slug, reason);

  it("is 404 to players in every request, and back as it was after it is shown again", async () => {
    const { api, user, player } = fixture;
    const slot = await aSaveSlot(api.deps, { user, game });
    expect((await player.post("/api/favorites", { gameId: game.id })).status).to.equal(200);
    const slots = `/api/games/${game.slug}/saves`;
    const requests: Record<string, () => Promise<ApiResponse>> = {
      detail: () => player.get(`/api/games/${game.slug}`),
      saves: () => player.get(slots),
      label: () => player.patch(`${slots}/${slot.id}`, { label: "Mine" }),
      favorite: () => player.post("/api/favorites", { gameId: game.id }),
      launch: () => player.post("/api/game/launch", { gameSlug: game.slug }),
    };
    const lists = ["", "?search=game", "?favorites=true", "?sort=lastPlayed"];
    const listed = async (): Promise<boolean[]> =>
      Promise.all(
        lists.map(async (query) => (await player.get(`/api/games${query}`)).text.includes(game.slug)),
      );
    expect(await listed()).to.deep.equal([true, true, true, true]);
    await hide();
    for (const [what, request] of Object.entries(requests)) {
      const response = await request();
      expect(response.status, what).to.equal(404);
      expectErrorResponse(response, 404, "not_found");
    }
    expect(await listed()).to.deep.equal([false, false, false, false]);
    await unhideGame(api.deps, game.slug);
    expect(await listed()).to.deep.equal([true, true, true, true]);
    expect((await requests["saves"]!()).status).to.equal(200);
  });

  it("stays playable for those who play it", async () => {
    const { player } = fixture;
    const sessionId = await fixture.running();
    await hide();
    expect((await player.post("/api/game/keepalive", { sessionId })).status).to.equal(200);
    expect((await player.get(`/api/game/session-status?sessionId=${sessionId}`)).json()).to.include({
      status: "running",
      gameTitle: game.title,
    });
  });

  it("shows its partner the state and the reason, and stays hidden through a change", async () => {
    const { api } = fixture;
    const { prisma } = api.deps.postgres;
    const partner = await aPartner(api.deps);
    const own = await aGame(api.deps, { partnerId: partner.id });
    const client = api.asPartner(partner);
    const path = `/api/partners/games/${own.slug}`;
    const before = await client.get(path);
    expect(before.json()).to.include({ status: "active" }).and.not.have.property("hidden");
    const { hiddenAt } = await hideGame(api.deps, own.slug, " The licence has expired. ");
    const hidden = { since: hiddenAt, reason: "The licence has expired." };
    const after = await client.get(path);
    expect(after.json<PartnerGameDetail>()).to.deep.include({ status: "active", hidden });
    expect(after.headers.get("etag")).to.not.equal(before.headers.get("etag"));
    const [listed] = (await client.get("/api/partners/games")).json<PartnerGamesResponse>().games;
    expect(listed).to.deep.include({ status: "active", hidden });
    // What an upload does.
    await prisma.game.update({ where: { id: own.id }, data: { status: "active", title: "Renamed" } });
    const again = await hideGame(api.deps, own.slug, "Another reason");
    expect(again.hiddenAt, "hidden since the first time").to.equal(hiddenAt);
    expectErrorResponse(await fixture.player.get(`/api/games/${own.slug}`), 404, "not_found");
    const trail = await prisma.auditEvent.findMany({ where: { subjectId: own.id }, orderBy: { id: "asc" } });
    expect(trail.map(({ action, details }) => [action, details])).to.deep.equal([
      ["game.hidden", { reason: hidden.reason }],
      ["game.hidden", { reason: "Another reason" }],
    ]);
  });

  it("is one of all games of a partner who is suspended with --hide-games", async () => {
    const { api } = fixture;
    const partner = await aPartner(api.deps);
    const [first, second] = [
      await aGame(api.deps, { partnerId: partner.id }),
      await aGame(api.deps, { partnerId: partner.id }),
    ];
    await hideGame(api.deps, second.slug, "Broken");
    const joypod = async (...args: string[]): Promise<unknown> => {
      const env = { DATABASE_URL: api.database.url };
      const { code, stdout, stderr } = await runJoypod([...args, "--json"], { env });
      expect(code, stdout + stderr).to.equal(0);
      return JSON.parse(stdout);
    };
    const suspend = ["partner", "suspend", "--partner", partner.name, "--hide-games"];
    expect(await joypod(...suspend, "--reason", "Unpaid")).to.deep.include({ hidden: [first.slug] });
    const player = api.as(await aUser(api.deps));
    expectErrorResponse(await player.get(`/api/games/${first.slug}`), 404, "not_found");
    expect(await joypod("game", "list", "--partner", partner.id, "--state", "hidden"))
      .to.have.property("games")
      .with.length(2);
    const resume = ["partner", "resume", "--partner", partner.id, "--unhide-games"];
    expect(await joypod(...resume)).to.deep.include({ shown: [first.slug] });
    expect((await player.get(`/api/games/${first.slug}`)).status).to.equal(200);
    expectErrorResponse(await player.get(`/api/games/${second.slug}`), 404, "not_found");
  });
});
