import { expect } from "chai";
import { packTar } from "modern-tar";
import { gzipSync } from "node:zlib";
import { GameVersionsResponse, UploadResponse, type GameVersion } from "#contracts/http/gameVersions.ts";
import { sweepVersions } from "#api/games/sweepVersions.ts";
import { aPartner, aUser } from "#test/factories/catalog.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { anArchive, archivedGame, sha256Of } from "#test/support/fixtures/archives.ts";
import { UploadFixture } from "#test/support/fixtures/uploadFixture.ts";
import { runJoypod } from "#test/support/processes/joypod.ts";
import { expectErrorResponse, type ApiResponse } from "#test/support/http/apiClient.ts";

describe("versions of a game", function () {
  this.timeout(60_000);
  let fixture: UploadFixture;

  before(async () => {
    fixture = await UploadFixture.start({ PARTNER_UPLOADS_PER_HOUR: "1000" });
  });
  beforeEach(() => fixture.newGame());
  after(() => fixture.stop());

  const gamePath = (): string => `/api/partners/games/${fixture.game.slug}`;

  async function upload(query = "", archive?: Buffer): Promise<UploadResponse> {
    const response = await fixture.client.put(`${fixture.path}${query}`, archive ?? (await anArchive()), {
      "content-type": "application/gzip",
    });
    expect(response.status, response.text).to.equal(200);
    return UploadResponse.parse(response.json());
  }

  async function versions(): Promise<GameVersion[]> {
    const response = await fixture.client.get(`${gamePath()}/versions`);
    expect(response.status, response.text).to.equal(200);
    return GameVersionsResponse.parse(response.json()).versions;
  }

  function activate(versionId: string, headers: Record<string, string> = {}): Promise<ApiResponse> {
    return fixture.client.post(`${gamePath()}/versions/${versionId}/activate`, undefined, headers);
  }

  async function activated(versionId: string): Promise<void> {
    const response = await activate(versionId);
    expect(response.status, response.text).to.equal(200);
    expect(response.json()).to.include({ id: versionId, isCurrent: true });
  }

  const sourceDigest = async (): Promise<string | undefined> =>
    (await fixture.operator.cache(fixture.game.slug))?.spec.source.sha256;

  /** As if all versions had been superseded an hour ago. */
  async function sweepAnHourLater(): Promise<void> {
    const text =
      "UPDATE game_versions SET superseded_at = superseded_at - interval '1 hour' WHERE game_id = $1";
    await fixture.api.deps.postgres.pool.query(text, [fixture.game.id]);
    await sweepVersions(fixture.api.deps);
  }

  it("are listed, newest first, with what the partner says about them", async () => {
    const archive = await anArchive();
    const first = await upload("?label=1.0&notes=First%20release%0AFor%20all", archive);
    const second = await upload();
    const listed = await versions();
    expect(listed.map(({ id, isCurrent }) => [id, isCurrent])).to.deep.equal([
      [second.versionId, true],
      [first.versionId, false],
    ]);
    expect(listed[1]).to.deep.include({
      label: "1.0",
      notes: "First release\nFor all",
      checksum: `sha256:${sha256Of(archive)}`,
      size: archive.length,
      unpackedSize: 2009,
      isStored: true,
      activeSessions: 0,
      cachedOn: 0,
    });
    expect(listed[0]).to.include({ label: null, notes: "" });
    const path = `${gamePath()}/versions/${second.versionId}`;
    const renamed = await fixture.client.patch(path, { label: "1.1", notes: "More levels" });
    expect(renamed.json()).to.include({ id: second.versionId, label: "1.1", notes: "More levels" });
    expect((await fixture.client.patch(path, { notes: null })).json()).to.include({
      label: "1.1",
      notes: "",
    });
  });

  it("are rolled back by one call while players play, and sessions keep theirs", async () => {
    const [good, bad] = [await anArchive(), await anArchive()];
    const { versionId } = await upload("?label=good", good);
    const play = async () => {
      const player = fixture.api.as(await aUser(fixture.api.deps));
      const response = await player.post("/api/game/launch", { gameSlug: fixture.game.slug });
      expect(response.status, response.text).to.equal(202);
      const { sessionId } = response.json<{ sessionId: string }>();
      return (await fixture.operator.session(sessionId)).spec.contentDigest;
    };
    const badVersion = await upload("", bad);
    expect(await play()).to.equal(sha256Of(bad));
    await activated(versionId);
    expect(await sourceDigest()).to.equal(sha256Of(good));
    expect(
      (await fixture.operator.cache(fixture.game.slug))!.spec.previousSources!.map(({ sha256 }) => sha256),
    ).to.deep.equal([sha256Of(bad)]);
    expect(await play()).to.equal(sha256Of(good));
    expect((await versions()).map(({ activeSessions }) => activeSessions)).to.deep.equal([1, 1]);
    await activated(badVersion.versionId);
    expect(await sourceDigest()).to.equal(sha256Of(bad));
    const before = await fixture.stateOf();
    await activated(badVersion.versionId);
    expect(await fixture.stateOf(), "activated twice").to.deep.equal(before);
  });

  it("wait to be activated if the game or the upload says so", async () => {
    expect((await fixture.client.patch(gamePath(), { autoActivate: false })).json()).to.include({
      autoActivate: false,
    });
    const player = fixture.api.as(await aUser(fixture.api.deps));
    const first = await upload();
    expect(first.isCurrent).to.equal(false);
    expect(await fixture.stateOf()).to.include({ status: "pending_upload", currentVersionId: null });
    expectErrorResponse(await player.get(`/api/games/${fixture.game.slug}`), 404, "not_found");
    expect(await sourceDigest()).to.equal(undefined);
    await activated(first.versionId);
    expect((await player.get(`/api/games/${fixture.game.slug}`)).status).to.equal(200);
    const second = await upload("?autoActivate=true");
    expect(second.isCurrent).to.equal(true);
    await fixture.client.patch(gamePath(), { autoActivate: null });
    const third = await upload("?autoActivate=false");
    expect(third.isCurrent).to.equal(false);
    expect(await fixture.stateOf()).to.include({ currentVersionId: second.versionId });
  });

  it("keep the last three archives, and the one that is current", async () => {
    const uploads = [];
    for (let count = 0; count < 6; count++) uploads.push(await upload());
    await activated(uploads[1]!.versionId);
    await sweepAnHourLater();
    const listed = await versions();
    expect(listed.map(({ isStored }) => isStored)).to.deep.equal([true, true, true, false, true, false]);
    expect(await fixture.objectKeys()).to.have.length(4);
    const refused = await activate(uploads[0]!.versionId);
    expectErrorResponse(refused, 409, "conflict");
    expect(refused.json<{ message: string }>().message).to.include("Upload it again");
    await activated(uploads[3]!.versionId);
    await eventually(
      async () =>
        (await fixture.operator.cache(fixture.game.slug))!.spec.previousSources?.length === 3 || undefined,
      { what: "the cache to name the kept versions" },
    );
    await sweepAnHourLater();
    expect((await versions()).filter(({ isStored }) => isStored)).to.have.length(3);
  });

  it("are not stored twice, and an archive that is uploaded again becomes current", async () => {
    const archive = await anArchive();
    const first = await upload("", archive);
    await upload();
    const again = await upload("?label=again", archive);
    expect(again).to.deep.equal({ ...first, isCurrent: true });
    const listed = await versions();
    expect(listed.map(({ isCurrent, label }) => [isCurrent, label])).to.deep.equal([
      [false, null],
      [true, "again"],
    ]);
    expect(await fixture.objectKeys()).to.have.length(2);
    const waiting = await upload("?autoActivate=false", await anArchive());
    expect(await fixture.stateOf()).to.include({ currentVersionId: first.versionId });
    await activated(waiting.versionId);
  });

  it("keep the launcher that they were checked with", async () => {
    const both = gzipSync(
      await packTar([
        { header: { name: "engine/data.bin", size: 4 }, body: "data" },
        { header: { name: "play.sh", size: 9, mode: 0o755 }, body: "#!/bin/sh" },
        { header: { name: "start.sh", size: 9, mode: 0o755 }, body: "#!/bin/sh" },
      ]),
    );
    const old = await upload("", await anArchive());
    const next = await upload("", both);
    expect((await fixture.client.patch(gamePath(), { launcher: "start.sh" })).status).to.equal(200);
    await activated(old.versionId);
    const detail = async () => (await fixture.client.get(gamePath())).json();
    expect(await detail()).to.include({ launcher: archivedGame.launcher });
    const player = fixture.api.as(await aUser(fixture.api.deps));
    const { sessionId } = (await player.post("/api/game/launch", { gameSlug: fixture.game.slug })).json<{
      sessionId: string;
    }>();
    expect((await fixture.operator.session(sessionId)).spec.launcher).to.equal(archivedGame.launcher);
    await activated(next.versionId);
    expect(await detail()).to.include({ launcher: "start.sh" });
  });

  it("say how many servers hold them", async () => {
    const archive = await anArchive();
    await upload("", archive);
    const entry = { digest: sha256Of(archive), state: "Ready" as const, bytes: 1, inUse: false };
    const name = await fixture.operator.addNode(1, {
      cache: { capacityBytes: 1, freeBytes: 1, entries: [entry] },
    });
    await eventually(async () => (await versions())[0]!.cachedOn === 1, { what: "the server to count" });
    await fixture.operator.removeNode(name);
  });

  it("are the partner's own, and refuse what does not fit", async () => {
    const { versionId } = await upload();
    const stranger = fixture.api.asPartner(await aPartner(fixture.api.deps));
    const paths = [`${gamePath()}/versions`, `${gamePath()}/versions/${versionId}/activate`] as const;
    for (const [client, status, error] of [
      [fixture.api.anonymous(), 401, "unauthorized"],
      [stranger, 404, "not_found"],
    ] as const) {
      expectErrorResponse(await client.get(paths[0]), status, error);
      expectErrorResponse(await client.post(paths[1]), status, error);
      expectErrorResponse(await client.patch(`${paths[0]}/${versionId}`, { label: "x" }), status, error);
    }
    expectErrorResponse(await activate("unknown"), 404, "not_found");
    const { versionId: foreign } = await (async () => {
      await fixture.anotherGame();
      return upload();
    })();
    await fixture.anotherGame();
    expectErrorResponse(await activate(foreign), 404, "not_found");
    const refused = await fixture.client.put(`${fixture.path}?autoActivate=maybe`, await anArchive(), {
      "content-type": "application/gzip",
    });
    expectErrorResponse(refused, 400, "invalid_request");
    const own = await upload();
    const staged = await upload("?autoActivate=false");
    expectErrorResponse(
      await activate(staged.versionId, { "if-match": '"other"' }),
      412,
      "precondition_failed",
    );
    const etag = (await fixture.client.get(gamePath())).headers.get("etag")!;
    expect((await activate(staged.versionId, { "if-match": etag })).status).to.equal(200);
    expectErrorResponse(await activate(own.versionId, { "if-match": etag }), 412, "precondition_failed");
  });

  it("are listed and activated by an admin's command", async () => {
    const first = await upload("?label=1.0");
    await upload();
    const { slug } = fixture.game;
    const joypod = async (...args: string[]): Promise<string> => {
      const env = { DATABASE_URL: fixture.api.database.url };
      const { code, stdout, stderr } = await runJoypod(args, { env });
      expect(code, stdout + stderr).to.equal(0);
      return stdout;
    };
    expect(await joypod("game", "versions", slug)).to.match(
      new RegExp(`^${first.versionId} +\\S+ +1[.]0 +-? *kept +0$`, "m"),
    );
    await joypod("game", "activate", slug, first.versionId);
    expect(await fixture.stateOf()).to.include({ currentVersionId: first.versionId });
  });

  it("of a deleted game are no longer kept, except the current one", async () => {
    await upload();
    const current = await upload();
    expect((await fixture.client.delete(gamePath())).status).to.equal(204);
    await sweepAnHourLater();
    expect(await fixture.objectKeys()).to.have.length(1);
    expect((await fixture.client.post(`${gamePath()}/restore`)).status).to.equal(200);
    expect(await fixture.stateOf()).to.include({ currentVersionId: current.versionId });
  });
});
