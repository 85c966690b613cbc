import { expect } from "chai";
import {
  CreatedPlayLink,
  GameChannelsResponse,
  GameTestersResponse,
  PlayLinksResponse,
} from "#contracts/http/gameChannels.ts";
import { GameDetail, GamesResponse } from "#contracts/http/catalog.ts";
import { GameVersionsResponse, UploadResponse } from "#contracts/http/gameVersions.ts";
import { sweepVersions } from "#api/games/sweepVersions.ts";
import { aPartner, aUser, type TestUser } from "#test/factories/catalog.ts";
import { anArchive, sha256Of } from "#test/support/fixtures/archives.ts";
import { UploadFixture } from "#test/support/fixtures/uploadFixture.ts";
import { expectErrorResponse, type ApiResponse } from "#test/support/http/apiClient.ts";

describe("channels of a game", function () {
  this.timeout(60_000);
  let fixture: UploadFixture;

  before(async () => {
    fixture = await UploadFixture.start({
      PARTNER_UPLOADS_PER_HOUR: "1000",
      CATALOG_REQUESTS_PER_MINUTE: "10000",
    });
  });
  beforeEach(() => fixture.newGame());
  after(() => fixture.stop());

  const gamePath = (): string => `/api/partners/games/${fixture.game.slug}`;

  async function upload(query = "", archive?: Buffer): Promise<UploadResponse & { digest: string }> {
    const bytes = archive ?? (await anArchive());
    const response = await fixture.client.put(`${fixture.path}${query}`, bytes, {
      "content-type": "application/gzip",
    });
    expect(response.status, response.text).to.equal(200);
    return { ...UploadResponse.parse(response.json()), digest: sha256Of(bytes) };
  }

  async function ok(sent: Promise<ApiResponse>): Promise<ApiResponse> {
    const response = await sent;
    expect(response.status, response.text).to.be.oneOf([200, 201, 204]);
    return response;
  }

  const setPrivate = () => ok(fixture.client.patch(gamePath(), { visibility: "private" }));
  const addTester = (email: string, channel?: string) =>
    ok(fixture.client.post(`${gamePath()}/testers`, { emails: [email], channel }));

  async function aConfirmedUser(): Promise<TestUser> {
    const user = await aUser(fixture.api.deps);
    await fixture.api.deps.postgres.prisma.user.update({
      where: { id: user.id },
      data: { emailVerifiedAt: new Date() },
    });
    return user;
  }

  const launch = (user: TestUser, body: object = {}): Promise<ApiResponse> =>
    fixture.api.as(user).post("/api/game/launch", { gameSlug: fixture.game.slug, ...body });

  async function launchedDigest(user: TestUser, body: object = {}): Promise<string> {
    const { sessionId } = (await launchOk(user, body)).json<{ sessionId: string }>();
    return (await fixture.operator.session(sessionId)).spec.contentDigest;
  }

  async function launchOk(user: TestUser, body: object = {}): Promise<ApiResponse> {
    const response = await launch(user, body);
    expect(response.status, response.text).to.equal(202);
    return response;
  }

  /** Expects that the game does not exist for this player. */
  async function expectUnknownTo(user: TestUser): Promise<void> {
    const player = fixture.api.as(user);
    const { slug, id } = fixture.game;
    expectErrorResponse(await player.get(`/api/games/${slug}`), 404, "not_found");
    expectErrorResponse(await launch(user), 404, "not_found");
    expectErrorResponse(await launch(user, { channel: "beta" }), 404, "not_found");
    expectErrorResponse(await player.post("/api/favorites", { gameId: id }), 404, "not_found");
    expectErrorResponse(await player.get(`/api/games/${slug}/saves`), 404, "not_found");
    for (const query of lists) expect(await isIn(user, query), query).to.equal(false);
  }

  const lists = [
    "",
    "sort=createdAt&order=desc",
    "tag=mine",
    "search=Trial",
    "sort=lastPlayed",
    "favorites=true",
  ];

  async function isIn(user: TestUser, query: string): Promise<boolean> {
    const response = await fixture.api.as(user).get(`/api/games?limit=50&${query}`);
    const { games, pagination } = GamesResponse.parse(response.json());
    expect(pagination.total, query).to.equal(games.length);
    return games.some(({ id }) => id === fixture.game.id);
  }

  it("open a private game to a tester, in every list and route, and to nobody else", async () => {
    await ok(fixture.client.patch(gamePath(), { title: "Trial", tags: ["mine"], visibility: "private" }));
    const { digest } = await upload();
    const [tester, other, unconfirmed] = [
      await aConfirmedUser(),
      await aConfirmedUser(),
      await aUser(fixture.api.deps),
    ];
    await expectUnknownTo(tester);
    await addTester(` ${tester.email.toUpperCase()}`);
    await addTester(unconfirmed.email);
    const player = fixture.api.as(tester);
    const detail = GameDetail.parse((await player.get(`/api/games/${fixture.game.slug}`)).json());
    expect(detail).to.not.have.property("channels");
    await ok(player.post("/api/favorites", { gameId: fixture.game.id }));
    for (const query of lists) expect(await isIn(tester, query), query).to.equal(true);
    await ok(player.get(`/api/games/${fixture.game.slug}/saves`));
    expect(await launchedDigest(tester)).to.equal(digest);
    await expectUnknownTo(other);
    await expectUnknownTo(unconfirmed);
    const { testers } = GameTestersResponse.parse(
      (await ok(fixture.client.get(`${gamePath()}/testers`))).json(),
    );
    expect(testers.map(({ email }) => email)).to.have.members([tester.email, unconfirmed.email]);
    for (const { id } of testers) await ok(fixture.client.delete(`${gamePath()}/testers/${id}`));
    expectErrorResponse(await player.get(`/api/games/${fixture.game.slug}`), 404, "not_found");
    expect(await isIn(tester, ""), "after the removal").to.equal(false);
  });

  it("lead testers to another version than players", async () => {
    const current = await upload();
    const beta = await upload("?channel=beta");
    expect(beta.isCurrent).to.equal(false);
    const [tester, other] = [await aConfirmedUser(), await aConfirmedUser()];
    await addTester(tester.email, "beta");
    const detail = async (user: TestUser) =>
      GameDetail.parse((await fixture.api.as(user).get(`/api/games/${fixture.game.slug}`)).json()).channels;
    expect(await detail(tester)).to.deep.equal(["default", "beta"]);
    expect(await detail(other)).to.equal(undefined);
    expect(await launchedDigest(tester, { channel: "beta" })).to.equal(beta.digest);
    expect(await launchedDigest(other)).to.equal(current.digest);
    expectErrorResponse(await launch(await aConfirmedUser(), { channel: "beta" }), 404, "not_found");
    const { spec } = (await fixture.operator.cache(fixture.game.slug))!;
    expect(spec.source.sha256).to.equal(current.digest);
    expect(spec.previousSources!.map(({ sha256 }) => sha256)).to.deep.equal([beta.digest]);
    const { channels } = GameChannelsResponse.parse(
      (await fixture.client.get(`${gamePath()}/channels`)).json(),
    );
    expect(channels).to.deep.equal([
      { name: "default", gameVersionId: current.versionId },
      { name: "beta", gameVersionId: beta.versionId },
    ]);
    const { versions } = GameVersionsResponse.parse(
      (await fixture.client.get(`${gamePath()}/versions`)).json(),
    );
    expect(versions.map((version) => version.channels)).to.deep.equal([["beta"], []]);
    await ok(fixture.client.put(`${gamePath()}/channels/default`, { gameVersionId: beta.versionId }));
    expect(await fixture.stateOf()).to.include({ currentVersionId: beta.versionId });
    await ok(fixture.client.delete(`${gamePath()}/channels/beta`));
    expectErrorResponse(await launch(await aConfirmedUser(), { channel: "beta" }), 404, "not_found");
  });

  it("can be played before a version is current, and keep their archive", async () => {
    const beta = await upload("?channel=beta");
    const { api, operator } = fixture;
    expect(await fixture.stateOf()).to.include({ status: "pending_upload" });
    const tester = await aConfirmedUser();
    await addTester(tester.email, "beta");
    expect(await launchedDigest(tester)).to.equal(beta.digest);
    expect((await operator.cache(fixture.game.slug))!.spec.source.sha256).to.equal(beta.digest);
    for (let count = 0; count < 3; count++) await upload("?autoActivate=false");
    await api.deps.postgres.pool.query(
      "UPDATE game_versions SET superseded_at = superseded_at - interval '1 hour' WHERE game_id = $1",
      [fixture.game.id],
    );
    await sweepVersions(api.deps);
    expect(await fixture.objectKeys()).to.have.length(4);
    const restored = async () => {
      await ok(fixture.client.delete(gamePath()));
      await sweepVersions(api.deps);
      await ok(fixture.client.post(`${gamePath()}/restore`));
    };
    await restored();
    expect(await launchedDigest(await invited("beta"))).to.equal(beta.digest);
  });

  async function invited(channel: string): Promise<TestUser> {
    const tester = await aConfirmedUser();
    await addTester(tester.email, channel);
    return tester;
  }

  it("open by a play link until it expires or is removed", async () => {
    await setPrivate();
    const { digest } = await upload();
    const created = CreatedPlayLink.parse(
      (await ok(fixture.client.post(`${gamePath()}/play-links`, { hours: 2 }))).json(),
    );
    expect(Date.parse(created.expiresAt) - Date.parse(created.createdAt)).to.equal(7_200_000);
    const linkToken = created.url.slice(created.url.indexOf("#") + 1);
    const [guest, other] = [await aUser(fixture.api.deps), await aUser(fixture.api.deps)];
    const open = (user: TestUser) => fixture.api.as(user).post("/api/play-links", { linkToken });
    expect((await ok(open(guest))).json()).to.deep.equal({
      gameSlug: fixture.game.slug,
      channel: "default",
    });
    await ok(open(guest));
    expect(await launchedDigest(guest)).to.equal(digest);
    await expectUnknownTo(other);
    const linksOf = async () =>
      PlayLinksResponse.parse((await fixture.client.get(`${gamePath()}/play-links`)).json()).links;
    expect((await linksOf()).map(({ players }) => players)).to.deep.equal([1]);
    await fixture.api.deps.postgres.prisma.playLink.update({
      where: { id: created.id },
      data: { expiresAt: new Date(Date.now() - 1000) },
    });
    expect(await linksOf()).to.deep.equal([]);
    expectErrorResponse(await open(other), 404, "not_found");
    expectErrorResponse(await fixture.api.as(guest).get(`/api/games/${fixture.game.slug}`), 404, "not_found");
    const next = CreatedPlayLink.parse(
      (await ok(fixture.client.post(`${gamePath()}/play-links`, {}))).json(),
    );
    const token = next.url.slice(next.url.indexOf("#") + 1);
    await ok(fixture.api.as(other).post("/api/play-links", { linkToken: token }));
    await ok(fixture.client.delete(`${gamePath()}/play-links/${next.id}`));
    expectErrorResponse(await fixture.api.as(other).get(`/api/games/${fixture.game.slug}`), 404, "not_found");
  });

  it("are not open while an admin hides the game", async () => {
    await upload("?channel=beta");
    const tester = await invited("beta");
    await ok(fixture.api.as(tester).get(`/api/games/${fixture.game.slug}`));
    await fixture.api.deps.postgres.prisma.game.update({
      where: { id: fixture.game.id },
      data: { hiddenAt: new Date() },
    });
    await expectUnknownTo(tester);
  });

  it("refuse what does not fit, and strangers", async () => {
    const { versionId } = await upload("?channel=beta");
    const stranger = fixture.api.asPartner(await aPartner(fixture.api.deps));
    for (const path of ["channels", "testers", "play-links"])
      expectErrorResponse(await stranger.get(`${gamePath()}/${path}`), 404, "not_found");
    const put = (channel: string, gameVersionId = versionId) =>
      fixture.client.put(`${gamePath()}/channels/${channel}`, { gameVersionId });
    for (const channel of ["a", "b", "c"]) await ok(put(channel));
    expectErrorResponse(await put("d"), 409, "conflict");
    expectErrorResponse(await put("beta", "unknown"), 404, "not_found");
    expectErrorResponse(await fixture.client.delete(`${gamePath()}/channels/default`), 409, "conflict");
    expectErrorResponse(await fixture.client.delete(`${gamePath()}/channels/unknown`), 404, "not_found");
    const testers = (body: object) => fixture.client.post(`${gamePath()}/testers`, body);
    expectErrorResponse(await testers({ emails: ["nobody"] }), 400, "invalid_request");
    expectErrorResponse(await testers({ emails: ["a@example.test"], channel: "unknown" }), 404, "not_found");
    const link = await fixture.client.post(`${gamePath()}/play-links`, { hours: 10_000 });
    expectErrorResponse(link, 400, "invalid_request");
  });

  it("ask before an older version continues the save of a newer one", async () => {
    const old = await upload();
    const next = await upload("?label=2.0");
    const user = await aConfirmedUser();
    const { prisma } = fixture.api.deps.postgres;
    const first = (await launchOk(user)).json<{ sessionId: string }>().sessionId;
    const { slotId } = await prisma.gameSession.findUniqueOrThrow({ where: { id: first } });
    await prisma.gameSession.update({
      where: { id: first },
      data: { status: "stopped", endedAt: new Date(), recordedAt: new Date(), slotReleasedAt: new Date() },
    });
    const objectKey = `saves/${slotId}/1-${first}-1.tar.gz`;
    await prisma.saveSlot.update({
      where: { id: slotId! },
      data: { objectKey, sha256: "a".repeat(64), bytes: 1n, generation: 1 },
    });
    await ok(fixture.client.post(`${gamePath()}/versions/${old.versionId}/activate`));
    expectErrorResponse(await launch(user), 409, "newer_save");
    expectErrorResponse(await launch(user, { saveSlotId: slotId }), 409, "newer_save");
    expect(await launchedDigest(user, { acceptsOlderVersion: true })).to.equal(old.digest);
    expect(await launchedDigest(await aConfirmedUser()), "without a save").to.equal(old.digest);
    await prisma.gameSession.updateMany({
      where: { userId: user.id },
      data: { status: "stopped", endedAt: new Date(), recordedAt: new Date(), slotReleasedAt: new Date() },
    });
    await ok(fixture.client.post(`${gamePath()}/versions/${next.versionId}/activate`));
    expect(await launchedDigest(user)).to.equal(next.digest);
    const copied = { sha256: "a".repeat(64), bytes: 1n };
    await prisma.saveVersion.create({
      data: { slotId: slotId!, kind: "played", gameSession: first, objectKey, generation: 1, ...copied },
    });
    const copy = await prisma.saveSlot.create({
      data: {
        userId: user.id,
        gameId: fixture.game.id,
        number: 2,
        label: "Copy",
        objectKey: "saves/copy/1-import-1-1.tar.gz",
        ...copied,
      },
    });
    expect(copy.gameVersionId, "of a copy").to.equal(next.versionId);
  });
});
