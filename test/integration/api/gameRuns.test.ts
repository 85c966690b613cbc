import { expect } from "chai";
import { gzipSync } from "node:zlib";
import { GameRun, GameRunsResponse, GameRunTotalsResponse } from "#contracts/http/gameRuns.ts";
import { runOutputKey } from "#contracts/objectKeys.ts";
import {
  aGame,
  aGameSessionRow,
  aPartner,
  aUser,
  type TestGame,
  type TestPartner,
  type TestUser,
} from "#test/factories/catalog.ts";
import { LaunchFixture } from "#test/support/fixtures/launchFixture.ts";
import { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse, type ApiClient } from "#test/support/http/apiClient.ts";

const crash = {
  status: "stopped",
  stopReason: "Failed",
  failureReason: "GameCrashed",
  failureMessage: "The game exited with code 139 (SIGSEGV).",
  exitCode: 139,
  exitSignal: "SIGSEGV",
  endedBy: "Itself",
} as const;
const streamSummary = {
  firstPictureSeconds: 7.44,
  viewedSeconds: 59.96,
  averageFps: 58.33,
  averageKbps: 7850.4,
  averageLoss: 0.00213,
  width: 1920,
  height: 1080,
};

describe("the runs of a partner's game", function () {
  this.timeout(60_000);
  let api: TestApi;
  let partner: TestPartner;
  let client: ApiClient;
  let game: TestGame;
  let secondVersion: string;
  let players: TestUser[];

  const moment = (day: number, hour = 12): Date => new Date(Date.UTC(2026, 2, day, hour));

  before(async () => {
    api = await TestApi.start({ minio: true, env: { PARTNER_REQUESTS_PER_MINUTE: "10000" } });
    const { deps } = api;
    partner = await aPartner(deps);
    client = api.asPartner(partner);
    game = await aGame(deps, { partnerId: partner.id });
    players = await Promise.all([aUser(deps), aUser(deps)]);
    const { id } = await deps.postgres.prisma.gameVersion.create({
      data: {
        gameId: game.id,
        objectKey: `archives/${game.id}/second.tar.gz`,
        sha256: "2".repeat(64),
        sizeBytes: 1n,
        unpackedSizeBytes: 1n,
        label: "2.0",
      },
    });
    secondVersion = id;
    await play("gs-1", 0, 1, { stopReason: "UserRequested", durationSeconds: 3600, endedBy: "CloseRequest" });
    await play("gs-2", 1, 1, {
      ...crash,
      durationSeconds: 60.04,
      cpuSeconds: 12.345,
      peakMemoryMb: 300.125,
      fullFolders: ["Home"],
      streamSummary,
    });
    await play("gs-3", 0, 2, {
      versionId: secondVersion,
      status: "error",
      readyAt: null,
      stopReason: "Failed",
      failureReason: "StreamerFailed",
      failureMessage: "Node node-a failed.",
    });
    await play("gs-4", 0, 2, { ...crash, versionId: secondVersion, readyAt: null, status: "error" });
    await play("gs-5", 1, 3, { versionId: secondVersion, status: "running", endedAt: null });
    await play("gs-queued", 0, 4, {
      status: "starting",
      crCreatedAt: null,
      readyAt: null,
      endedAt: null,
      queueNumber: 1n,
    });
  });
  after(() => api.stop());

  async function play(
    id: string,
    player: number,
    day: number,
    fields: Parameters<typeof aGameSessionRow>[2] = {},
  ): Promise<void> {
    await aGameSessionRow(
      api.deps,
      { user: players[player]!, game },
      {
        id,
        slotId: null,
        status: "stopped",
        startedAt: moment(day),
        readyAt: moment(day),
        endedAt: moment(day, 13),
        ...fields,
      },
    );
  }
  const runsPath = (): string => `/api/partners/games/${game.slug}/runs`;
  async function runs(query = ""): Promise<GameRunsResponse> {
    const response = await client.get(`${runsPath()}${query}`);
    expect(response.status, response.text).to.equal(200);
    return GameRunsResponse.parse(response.json());
  }
  const ids = ({ runs: listed }: GameRunsResponse): string[] => listed.map(({ id }) => id);

  it("are listed newest first, without those in the queue and without their players", async () => {
    const response = await client.get(runsPath());
    expect(ids(GameRunsResponse.parse(response.json()))).to.deep.equal([
      "gs-5",
      "gs-4",
      "gs-3",
      "gs-2",
      "gs-1",
    ]);
    for (const { id, email, name } of players) {
      expect(response.text).to.not.include(id).and.not.include(email);
      expect(response.text).to.not.include(name);
    }
  });

  it("are paged by a cursor without gaps or repetitions", async () => {
    const pages: string[][] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const page: GameRunsResponse = await runs(`?limit=2${cursor && `&cursor=${cursor}`}`);
      pages.push(ids(page));
      cursor = page.nextCursor;
    }
    expect(pages).to.deep.equal([["gs-5", "gs-4"], ["gs-3", "gs-2"], ["gs-1"]]);
  });

  it("are filtered by version, day and crash", async () => {
    expect(ids(await runs(`?gameVersionId=${secondVersion}`))).to.deep.equal(["gs-5", "gs-4", "gs-3"]);
    expect(ids(await runs("?crashed=true"))).to.deep.equal(["gs-4", "gs-2"]);
    expect(ids(await runs("?from=2026-03-02&to=2026-03-02"))).to.deep.equal(["gs-4", "gs-3"]);
    const { nextCursor } = await runs("?crashed=true&limit=1");
    expect(ids(await runs(`?crashed=true&limit=1&cursor=${nextCursor ?? ""}`))).to.deep.equal(["gs-2"]);
    expect(ids(await runs("?from=2026-04-01"))).to.deep.equal([]);
  });

  it("say how the game ended, what it used and how it was streamed", async () => {
    const response = await client.get(`${runsPath()}/gs-2`);
    expect(GameRun.parse(response.json())).to.deep.equal({
      id: "gs-2",
      gameVersionId: game.versionId,
      versionLabel: null,
      status: "stopped",
      startedAt: moment(1).toISOString(),
      readyAt: moment(1).toISOString(),
      endedAt: moment(1, 13).toISOString(),
      playSeconds: 60,
      endReason: "failed",
      failure: { reason: "GameCrashed", message: "The game exited with code 139 (SIGSEGV)." },
      crashed: true,
      exit: { code: 139, signal: "SIGSEGV" },
      endedBy: "itself",
      usage: { cpuSeconds: 12.35, peakMemoryMb: 300.13 },
      fullFolders: ["home"],
      stream: {
        firstPictureSeconds: 7.4,
        viewedSeconds: 60,
        averageFps: 58.3,
        averageKbps: 7850,
        averageLoss: 0.0021,
        width: 1920,
        height: 1080,
      },
    });
    const [running, , platform, , asked] = (await runs()).runs;
    expect(running).to.include({ status: "running", endedAt: null, playSeconds: null, endReason: null });
    expect(platform).to.deep.include({
      crashed: false,
      failure: { reason: "StreamerFailed", message: null },
      usage: null,
      stream: null,
    });
    expect(asked).to.deep.include({
      endReason: "user_requested",
      failure: null,
      exit: null,
      endedBy: "close_request",
    });
  });

  it("are summed per day and version", async () => {
    const response = await client.get(`${runsPath()}/totals?from=2026-03-01&to=2026-03-31`);
    const { total, days, ...range } = GameRunTotalsResponse.parse(response.json());
    expect(range).to.deep.equal({ from: "2026-03-01", to: "2026-03-31" });
    expect(total).to.deep.equal({ plays: 4, hours: 1.02, players: 2, crashes: 2, crashRate: 0.5 });
    const second = { gameVersionId: secondVersion, versionLabel: "2.0", hours: 0, plays: 1, players: 1 };
    expect(days).to.deep.equal([
      { day: "2026-03-03", ...second, crashes: 0, crashRate: 0 },
      { day: "2026-03-02", ...second, crashes: 1, crashRate: 1 },
      {
        day: "2026-03-01",
        gameVersionId: game.versionId,
        versionLabel: null,
        plays: 2,
        hours: 1.02,
        players: 2,
        crashes: 1,
        crashRate: 0.5,
      },
    ]);
    const recent = GameRunTotalsResponse.parse((await client.get(`${runsPath()}/totals`)).json());
    expect(Date.parse(recent.to) - Date.parse(recent.from)).to.equal(29 * 24 * 3600_000);
    expect(recent).to.deep.include({
      total: { plays: 0, hours: 0, players: 0, crashes: 0, crashRate: 0 },
      days: [],
    });
  });

  it("give the end of the game's output as a text file that shows control characters", async () => {
    const { client: store, bucket } = api.deps.objectStore;
    await store.putObject(bucket, runOutputKey("gs-2"), gzipSync("loading\n\u001b[2Jlibfoo.so: not found\n"));
    const response = await client.get(`${runsPath()}/gs-2/log`);
    expect(response.status, response.text).to.equal(200);
    expect(response.text).to.equal("loading\n\\x1b[2Jlibfoo.so: not found\n");
    expect(Object.fromEntries(response.headers)).to.include({
      "content-type": "text/plain; charset=utf-8",
      "content-disposition": 'attachment; filename="gs-2.log"',
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
    });
    expectErrorResponse(await client.get(`${runsPath()}/gs-1/log`), 404, "not_found");
  });

  it("are the partner's own, of this game, and of games that are not deleted", async () => {
    const stranger = await aPartner(api.deps);
    const other = await aGame(api.deps, { partnerId: partner.id });
    const hidden = await aGame(api.deps, { partnerId: partner.id, visibility: "private" });
    const paths = ["", "/totals", "/gs-2", "/gs-2/log"];
    for (const path of paths) {
      expectErrorResponse(await api.anonymous().get(`${runsPath()}${path}`), 401, "unauthorized");
      expectErrorResponse(await api.asPartner(stranger).get(`${runsPath()}${path}`), 404, "not_found");
      expectErrorResponse(await client.get(`/api/partners/games/no-such-game/runs${path}`), 404, "not_found");
    }
    for (const path of ["/gs-2", "/gs-2/log", "/gs-queued"])
      expectErrorResponse(
        await client.get(`/api/partners/games/${other.slug}/runs${path}`),
        404,
        "not_found",
      );
    expectErrorResponse(await client.get(`${runsPath()}/gs-queued`), 404, "not_found");
    expect((await client.get(`/api/partners/games/${hidden.slug}/runs`)).status).to.equal(200);
    const { prisma } = api.deps.postgres;
    await prisma.partner.update({ where: { id: stranger.id }, data: { suspendedAt: new Date() } });
    expectErrorResponse(await api.asPartner(stranger).get(runsPath()), 403, "forbidden");
    await prisma.game.update({ where: { id: game.id }, data: { deletedAt: new Date() } });
    for (const path of paths) expectErrorResponse(await client.get(`${runsPath()}${path}`), 404, "not_found");
    await prisma.game.update({ where: { id: game.id }, data: { deletedAt: null } });
  });

  it("refuse invalid filters, cursors and ranges", async () => {
    for (const query of [
      "?limit=0",
      "?crashed=false",
      "?from=yesterday",
      "?cursor=AAAA",
      "?cursor=%20",
      "?page=2",
    ])
      expectErrorResponse(await client.get(`${runsPath()}${query}`), 400, "invalid_request");
    for (const query of [
      "?from=2026-01-01&to=2026-06-01",
      "?from=2026-02-02&to=2026-02-01",
      "?from=2026-02-30",
    ])
      expectErrorResponse(await client.get(`${runsPath()}/totals${query}`), 400, "invalid_request");
    expect(ids(await runs("?limit=5000"))).to.have.lengthOf(5);
  });
});

describe("the run of a session that ended", function () {
  this.timeout(60_000);
  let fixture: LaunchFixture;

  before(async () => {
    fixture = await LaunchFixture.start();
    await fixture.newPlayer();
  });
  after(() => fixture.stop());

  it("has what the operator reported", async () => {
    const id = await fixture.running();
    await fixture.operator.finish(id, {
      stopReason: "Failed",
      failure: { reason: "GameCrashed", message: "The game exited with code 139 (SIGSEGV)." },
      exit: { code: 139, signal: "SIGSEGV" },
      gameEnd: { endedBy: "Itself", fullFolders: ["Tmp"] },
      usage: { durationSeconds: 5, cpuSeconds: 2, peakMemoryBytes: 2 ** 20 },
      streamSummary,
    });
    await fixture.ended(id);
    const { prisma } = fixture.api.deps.postgres;
    const partner = await aPartner(fixture.api.deps);
    await prisma.game.update({ where: { id: fixture.game.id }, data: { partnerId: partner.id } });
    const client = fixture.api.asPartner(partner);
    const response = await client.get(`/api/partners/games/${fixture.game.slug}/runs/${id}`);
    expect(GameRun.parse(response.json())).to.deep.include({
      crashed: true,
      exit: { code: 139, signal: "SIGSEGV" },
      endedBy: "itself",
      usage: { cpuSeconds: 2, peakMemoryMb: 1 },
      fullFolders: ["tmp"],
    });
    expect(response.json<GameRun>().stream).to.include({ firstPictureSeconds: 7.4, averageFps: 58.3 });
  });
});
