import { expect } from "chai";
import { HistoryResponse, PlayTimeResponse } from "#contracts/http/history.ts";
import {
  aGame,
  aGameSessionRow,
  aSaveSlot,
  aUser,
  type TestGame,
  type TestUser,
} from "#test/factories/catalog.ts";
import { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse, type ApiClient } from "#test/support/http/apiClient.ts";

describe("the player's history", () => {
  let api: TestApi;
  let user: TestUser;
  let player: ApiClient;
  let moon: TestGame;
  let gone: TestGame;
  let slotId: string;

  const day = (number: number): Date => new Date(Date.UTC(2026, 0, number));

  before(async () => {
    api = await TestApi.start({ env: { CATALOG_REQUESTS_PER_MINUTE: "10000" } });
    user = await aUser(api.deps);
    player = api.as(user);
    moon = await aGame(api.deps, {
      slug: "moon",
      title: "Moon",
      thumbnail: "https://pictures.test/moon.png",
    });
    gone = await aGame(api.deps, { slug: "gone", title: "Gone", deletedAt: day(20) });
    slotId = (await aSaveSlot(api.deps, { user, game: moon, number: 2, label: "The second" })).id;
    const play = (id: string, game: TestGame, number: number, fields: object) =>
      aGameSessionRow(
        api.deps,
        { user, game },
        { id, slotId: null, status: "stopped", startedAt: day(number), endedAt: day(number), ...fields },
      );
    await play("gs-asked", moon, 1, { slotId, durationSeconds: 60.5, stopReason: "UserRequested" });
    await play("gs-idle", moon, 2, {
      durationSeconds: 100.04,
      stopReason: "IdleTimeout",
      saveNotice: "The last save is incomplete.",
    });
    await play("gs-crash", gone, 3, {
      durationSeconds: 7,
      stopReason: "Failed",
      failureReason: "GameCrashed",
    });
    await play("gs-never", moon, 4, { status: "error", readyAt: null, stopReason: "Failed" });
    await play("gs-now", moon, 5, { status: "running", endedAt: null });
    const other = await aUser(api.deps);
    await aGameSessionRow(api.deps, { user: other, game: moon }, { startedAt: day(6), durationSeconds: 5 });
  });
  after(() => api.stop());

  async function history(query = ""): Promise<HistoryResponse> {
    const response = await player.get(`/api/game/history${query}`);
    expect(response.status, response.text).to.equal(200);
    return HistoryResponse.parse(response.json());
  }
  const ids = ({ sessions }: HistoryResponse): string[] => sessions.map(({ sessionId }) => sessionId);

  it("lists the player's own sessions of all games, newest first, with their total duration", async () => {
    const { sessions, playSeconds, pagination } = await history();
    expect(
      sessions.map(({ sessionId, status, playSeconds, endReason }) => [
        sessionId,
        status,
        playSeconds,
        endReason,
      ]),
    ).to.deep.equal([
      ["gs-now", "running", null, undefined],
      ["gs-never", "error", 0, "failed"],
      ["gs-crash", "stopped", 7, "failed"],
      ["gs-idle", "stopped", 100, "idle_timeout"],
      ["gs-asked", "stopped", 60.5, "user_requested"],
    ]);
    expect(playSeconds).to.equal(167.5);
    expect(pagination).to.deep.equal({ page: 1, limit: 20, total: 5, totalPages: 1 });
  });

  it("says in which slot a session was played, and how it ended", async () => {
    const { sessions } = await history();
    expect(sessions.at(-1)).to.deep.equal({
      sessionId: "gs-asked",
      game: { slug: "moon", title: "Moon", thumbnail: "https://pictures.test/moon.png", isAvailable: true },
      status: "stopped",
      startedAt: "2026-01-01T00:00:00.000Z",
      endedAt: "2026-01-01T00:00:00.000Z",
      playSeconds: 60.5,
      endReason: "user_requested",
      slot: { id: slotId, slotNumber: 2, label: "The second" },
    });
    const [, never, crash, idle] = sessions;
    expect(never?.message).to.include("could not be started");
    expect(crash?.message).to.include("ended with an error");
    expect(crash).to.deep.include({
      slot: null,
      game: { slug: "gone", title: "Gone", thumbnail: "", isAvailable: false },
    });
    expect(idle).to.deep.include({
      message: "The session was stopped because it was idle.",
      saveNotice: "The last save is incomplete.",
    });
  });

  it("filters by game and pages without a gap", async () => {
    const pages = [];
    for (const page of [1, 2, 3]) pages.push(await history(`?game=moon&limit=2&page=${page}`));
    expect(pages.map(ids)).to.deep.equal([["gs-now", "gs-never"], ["gs-idle", "gs-asked"], []]);
    expect(pages[1]).to.deep.include({
      playSeconds: 160.5,
      pagination: { page: 2, limit: 2, total: 4, totalPages: 2 },
    });
    expect((await history("?game=unknown")).pagination.total).to.equal(0);
    expect((await history("?limit=5000")).pagination.limit).to.equal(50);
  });

  it("shows no picture of a game that an admin hides", async () => {
    const { prisma } = api.deps.postgres;
    await prisma.game.update({ where: { id: moon.id }, data: { hiddenAt: new Date() } });
    const [now] = (await history()).sessions;
    expect(now?.game).to.deep.equal({ slug: "moon", title: "Moon", thumbnail: "", isAvailable: false });
    await prisma.game.update({ where: { id: moon.id }, data: { hiddenAt: null } });
  });

  it("sums the play time of each game", async () => {
    const response = await player.get("/api/game/play-time");
    const { games, pagination } = PlayTimeResponse.parse(response.json());
    expect(games.map(({ game, ...played }) => [game.slug, played])).to.deep.equal([
      ["moon", { sessions: 4, playSeconds: 160.5, lastPlayedAt: "2026-01-05T00:00:00.000Z" }],
      ["gone", { sessions: 1, playSeconds: 7, lastPlayedAt: "2026-01-03T00:00:00.000Z" }],
    ]);
    expect(pagination.total).to.equal(2);
    const second = PlayTimeResponse.parse((await player.get("/api/game/play-time?limit=1&page=2")).json());
    expect(second.games.map(({ game }) => game.slug)).to.deep.equal(["gone"]);
  });

  it("is empty for a player who has never played", async () => {
    const newcomer = api.as(await aUser(api.deps));
    expect((await newcomer.get("/api/game/history")).json()).to.deep.equal({
      sessions: [],
      playSeconds: 0,
      pagination: { page: 1, limit: 20, total: 0, totalPages: 0 },
    });
    expect((await newcomer.get("/api/game/play-time")).json<PlayTimeResponse>().games).to.deep.equal([]);
  });

  it("requires a sign-in and valid parameters", async () => {
    for (const path of ["/api/game/history", "/api/game/play-time"]) {
      expectErrorResponse(await api.anonymous().get(path), 401, "unauthorized");
      expectErrorResponse(await player.get(`${path}?page=0`), 400, "invalid_request");
    }
    expectErrorResponse(await player.get("/api/game/history?game=No!"), 400, "invalid_request");
  });
});
