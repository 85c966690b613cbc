import { expect } from "chai";
import type { GamesResponse } from "#contracts/http/catalog.ts";
import { addToGroup, createGroup, deleteGroup, restrictGame, unrestrictGame } from "#api/groups/groups.ts";
import { aGame, aSaveSlot, aUser, type TestGame, type TestUser } from "#test/factories/catalog.ts";
import { LaunchFixture } from "#test/support/fixtures/launchFixture.ts";
import { expectErrorResponse, type ApiClient, type ApiResponse } from "#test/support/http/apiClient.ts";
import { runJoypod } from "#test/support/processes/joypod.ts";

describe("a game that is restricted to groups", function () {
  this.timeout(60_000);
  let fixture: LaunchFixture;
  let game: TestGame;
  let member: TestUser;
  let others: TestGame[];

  before(async () => {
    fixture = await LaunchFixture.start();
    const { deps } = fixture.api;
    ({ game } = fixture);
    others = await Promise.all(
      ["alpha", "beta", "gamma"].map((name) => aGame(deps, { slug: `other-${name}`, tags: ["calm"] })),
    );
    member = await aUser(deps);
    await createGroup(deps, "Testers");
    await createGroup(deps, "Empty");
    await addToGroup(deps, "Testers", [member.email.toUpperCase()]);
  });
  beforeEach(() => fixture.newPlayer());
  afterEach(() => unrestrictGame(fixture.api.deps, game.slug));
  after(() => fixture.stop());

  const restrict = (...groups: string[]) => restrictGame(fixture.api.deps, game.slug, groups);

  function requestsOf(player: ApiClient, slotId: string): Record<string, () => Promise<ApiResponse>> {
    const slots = `/api/games/${game.slug}/saves`;
    return {
      detail: () => player.get(`/api/games/${game.slug}`),
      saves: () => player.get(slots),
      label: () => player.patch(`${slots}/${slotId}`, { label: "Mine" }),
      favorite: () => player.post("/api/favorites", { gameId: game.id }),
    };
  }

  it("is 404 to others in every request, and like any other game to members", async () => {
    const { api, user, player } = fixture;
    const friend = api.as(member);
    const [slot, theirs] = await Promise.all([
      aSaveSlot(api.deps, { user, game }),
      aSaveSlot(api.deps, { user: member, game }),
    ]);
    await restrict("Empty", "Testers");
    for (const [what, request] of Object.entries(requestsOf(player, slot.id))) {
      const response = await request();
      expect(response.status, what).to.equal(404);
      expectErrorResponse(response, 404, "not_found");
    }
    const refused = await player.post("/api/game/launch", { gameSlug: game.slug });
    expectErrorResponse(refused, 404, "not_found");
    const unknown = await player.post("/api/game/launch", { gameSlug: "no-such-game" });
    expect(refused.json()["message"]).to.equal(unknown.json()["message"]);
    for (const [what, request] of Object.entries(requestsOf(friend, theirs.id)))
      expect((await request()).status, what).to.equal(200);
    expect((await friend.post("/api/game/launch", { gameSlug: game.slug })).status).to.equal(202);
  });

  it("is neither listed nor counted for others, in every order, search and page", async () => {
    const { api, user, player } = fixture;
    const friend = api.as(member);
    await aSaveSlot(api.deps, { user, game });
    await player.post("/api/favorites", { gameId: game.id });
    await restrict("Testers");
    const queries = [
      "",
      "sort=popular",
      "sort=createdAt&order=desc",
      "sort=lastPlayed",
      "search=a",
      "search=game",
    ];
    for (const query of queries) {
      const pagesOf = async (client: ApiClient): Promise<{ slugs: string[]; total: number }> => {
        const slugs: string[] = [];
        for (let page = 1; ; page++) {
          const { games, pagination } = (
            await client.get(`/api/games?${query}${query === "" ? "" : "&"}limit=2&page=${page}`)
          ).json<GamesResponse>();
          slugs.push(...games.map(({ slug }) => slug));
          if (games.length < 2) return { slugs, total: pagination.total };
        }
      };
      const [seen, all] = [await pagesOf(player), await pagesOf(friend)];
      expect(all.slugs, query).to.include(game.slug);
      expect(seen.slugs, query).to.not.include(game.slug);
      expect(new Set(seen.slugs).size, query).to.equal(seen.total);
      expect(new Set(all.slugs).size, query).to.equal(all.total);
      expect(all.total, query).to.equal(seen.total + 1);
    }
    const favorites = (await player.get("/api/games?favorites=true")).json<GamesResponse>();
    expect([favorites.games, favorites.pagination.total]).to.deep.equal([[], 0]);
    expect((await player.get("/api/games?tag=calm")).json<GamesResponse>().pagination.total).to.equal(
      others.length,
    );
  });

  it("stays playable for those who play it, and restricted when its group is deleted", async () => {
    const { api, player } = fixture;
    const sessionId = await fixture.running();
    await createGroup(api.deps, "Short-lived");
    await restrict("Short-lived");
    expect((await player.post("/api/game/keepalive", { sessionId })).status).to.equal(200);
    await deleteGroup(api.deps, "Short-lived");
    for (const client of [player, api.as(member)])
      expectErrorResponse(await client.get(`/api/games/${game.slug}`), 404, "not_found");
    await unrestrictGame(api.deps, game.slug);
    expect((await player.get(`/api/games/${game.slug}`)).status).to.equal(200);
  });

  it("is managed with joypod group", async () => {
    const { api, user } = fixture;
    const env = { DATABASE_URL: api.database.url };
    const joypod = (...args: string[]) => runJoypod(["group", ...args], { env });
    expect((await joypod("create", "Friends")).stdout).to.equal("Created the group Friends.\n");
    const [again, added, unknown, noGroup, noGame] = await Promise.all([
      joypod("create", "Friends"),
      joypod("add", "Friends", user.email, member.email),
      joypod("add", "Friends", "nobody@example.test", user.email),
      joypod("restrict", game.slug, "Nobody"),
      joypod("restrict", "no-such-game", "Testers"),
    ]);
    expect([again.code, unknown.code, noGroup.code, noGame.code]).to.deep.equal([3, 4, 4, 4]);
    expect(added.stdout).to.equal("Players who joined Friends: 2.\n");
    expect(unknown.stderr).to.contain("There is no user nobody@example.test. Nothing was changed.");
    expect(noGroup.stderr).to.contain("See `joypod group list`");
    await joypod("restrict", game.slug, "Friends");
    expect((await fixture.player.get(`/api/games/${game.slug}`)).status).to.equal(200);
    expect((await joypod("remove", "Friends", user.email)).stdout).to.contain("left Friends: 1");
    expectErrorResponse(await fixture.player.get(`/api/games/${game.slug}`), 404, "not_found");
    const [shown, listed] = await Promise.all([
      joypod("show", "Friends", "--json"),
      joypod("list", "--search", "friend"),
    ]);
    expect(JSON.parse(shown.stdout)).to.deep.include({
      name: "Friends",
      memberEmails: [member.email],
      gameSlugs: [game.slug],
    });
    expect(listed.stdout).to.match(/^NAME +MEMBERS +GAMES.*\nFriends +1 +1/);
    expect((await runJoypod(["user", "show", member.email], { env })).stdout).to.match(
      /Groups: +Friends, Testers\n/,
    );
    expect((await joypod("delete", "Friends")).stdout).to.contain(`restricted to it: ${game.slug}`);
  });
});
