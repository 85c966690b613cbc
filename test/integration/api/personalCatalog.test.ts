import { expect } from "chai";
import { GamesResponse, type GameListItem } from "#contracts/http/catalog.ts";
import {
  aGame,
  aGameSessionRow,
  aPartner,
  aSaveSlot,
  aUser,
  type TestUser,
} from "#test/factories/catalog.ts";
import { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse, type ApiClient } from "#test/support/http/apiClient.ts";

describe("GET /api/games, for one player", () => {
  let api: TestApi;
  let user: TestUser;
  let player: ApiClient;
  let slot: { id: string; number: number };

  before(async () => {
    api = await TestApi.start({ env: { CATALOG_REQUESTS_PER_MINUTE: "10000" } });
    user = await aUser(api.deps);
    player = api.as(user);
    const partnerId = (await aPartner(api.deps)).id;
    const games = new Map<string, Awaited<ReturnType<typeof aGame>>>();
    for (const title of ["Ant", "Bee", "Cat", "Dog", "Eel"])
      games.set(
        title,
        await aGame(api.deps, { slug: title.toLowerCase(), title, partnerId, tags: [title[0] ?? ""] }),
      );
    const game = (title: string) => games.get(title)!;
    const { prisma } = api.deps.postgres;
    const playedAt = (day: number): Date => new Date(Date.UTC(2026, 0, day));
    const play = (title: string, day: number, seconds: number, slotId: string | null) =>
      aGameSessionRow(
        api.deps,
        { user, game: game(title) },
        {
          slotId,
          status: "stopped",
          startedAt: playedAt(day),
          endedAt: playedAt(day),
          durationSeconds: seconds,
        },
      );
    slot = await aSaveSlot(api.deps, { user, game: game("Dog"), number: 2 });
    await prisma.saveSlot.update({ where: { id: slot.id }, data: { lastPlayedAt: playedAt(4) } });
    const older = await aSaveSlot(api.deps, { user, game: game("Dog"), number: 1 });
    await prisma.saveSlot.update({ where: { id: older.id }, data: { lastPlayedAt: playedAt(2) } });
    await play("Dog", 3, 60.5, slot.id);
    await play("Dog", 4, 100, slot.id);
    await play("Bee", 5, 10, null);
    for (const title of ["Eel", "Dog"])
      await prisma.favorite.create({ data: { userId: user.id, gameId: game(title).id } });
    const other = await aUser(api.deps);
    await prisma.favorite.create({ data: { userId: other.id, gameId: game("Ant").id } });
    await aSaveSlot(api.deps, { user: other, game: game("Ant") });
  });
  after(() => api.stop());

  async function list(query: string): Promise<GamesResponse> {
    const response = await player.get(`/api/games?${query}`);
    expect(response.status, response.text).to.equal(200);
    return GamesResponse.parse(response.json());
  }
  const titles = ({ games }: { games: GameListItem[] }): string =>
    games.map(({ title }) => title[0]).join("");

  it("returns the player's favourites alone, in every order", async () => {
    const { games, pagination } = await list("favorites=true");
    expect(titles({ games })).to.equal("DE");
    expect(pagination).to.deep.equal({ page: 1, limit: 20, total: 2, totalPages: 1 });
    expect(games.map(({ isFavorite }) => isFavorite)).to.deep.equal([true, true]);
    expect(titles(await list("favorites=true&order=desc"))).to.equal("ED");
    expect(titles(await list("favorites=true&sort=lastPlayed"))).to.equal("DE");
    expect(titles(await list("favorites=true&sort=createdAt&order=desc"))).to.equal("ED");
    expect(titles(await list("favorites=true&search=eel"))).to.equal("E");
    expect(titles(await list("favorites=true&tag=d"))).to.equal("D");
  });

  it("sorts by when the player last played, games never played last", async () => {
    expect(titles(await list("sort=lastPlayed&order=desc"))).to.equal("BDACE");
    expect(titles(await list("sort=lastPlayed"))).to.equal("DBACE");
    expect(titles(await list("sort=lastPlayed&order=desc&search=ee"))).to.equal("BE");
    expect((await list("sort=lastPlayed&search=ee")).pagination.total).to.equal(2);
  });

  it("pages across played and other games without a gap or a repeat", async () => {
    const pages = [];
    for (const page of [1, 2, 3, 4])
      pages.push(await list(`sort=lastPlayed&order=desc&limit=2&page=${page}`));
    expect(pages.map(titles)).to.deep.equal(["BD", "AC", "E", ""]);
    expect(pages[3]?.pagination).to.deep.equal({ page: 4, limit: 2, total: 5, totalPages: 3 });
  });

  it("says when, how long and in which slot the player played, and only in these lists", async () => {
    const { games } = await list("sort=lastPlayed&order=desc");
    expect(games.map(({ played }) => played)).to.deep.equal([
      { lastPlayedAt: "2026-01-05T00:00:00.000Z", playSeconds: 10, slot: null },
      {
        lastPlayedAt: "2026-01-04T00:00:00.000Z",
        playSeconds: 160.5,
        slot: { id: slot.id, slotNumber: slot.number },
      },
      null,
      null,
      null,
    ]);
    for (const game of (await list("")).games) expect(game).to.not.have.property("played");
    expect((await list("favorites=false")).games).to.deep.equal((await list("")).games);
  });

  it("refuses other values of favorites", async () => {
    expectErrorResponse(await player.get("/api/games?favorites=yes"), 400, "invalid_request");
  });
});
