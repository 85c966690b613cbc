import { expect } from "chai";
import { limits } from "#contracts/limits.ts";
import { saveKey } from "#contracts/objectKeys.ts";
import { updateSlotSave } from "#api/gameSessions/recording/slotQueries.ts";
import { aGame, aGameSessionRow, aPartner, aSaveSlot, type TestPartner } from "#test/factories/catalog.ts";
import type { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse, type ApiClient } from "#test/support/http/apiClient.ts";
import { LaunchFixture } from "#test/support/fixtures/launchFixture.ts";

const path = "/api/partners/games";
const metadata = { developer: "Test Studio", launcher: "play.sh", engineDir: "engine" };
const mebibyte = 2 ** 20;

describe("network and save limit of a game", function () {
  this.timeout(60_000);
  let fixture: LaunchFixture;
  let api: TestApi;
  let partner: TestPartner;
  let client: ApiClient;

  before(async () => {
    fixture = await LaunchFixture.start({ env: { GAME_NETWORK: "internet", LAUNCHES_PER_MINUTE: "100" } });
    ({ api } = fixture);
  });
  beforeEach(async () => {
    partner = await aPartner(api.deps);
    client = api.asPartner(partner);
    await fixture.newPlayer();
  });
  after(() => fixture.stop());

  async function specOf(id: string) {
    return (await fixture.operator.session(id)).spec;
  }

  it("are registered, shown, changed and reset", async () => {
    const slug = `net-${partner.keyId}`;
    const created = await client.post(path, {
      ...metadata,
      title: "Net",
      slug,
      network: "internet",
      saveLimitMb: 512,
      stopGraceSeconds: 12,
    });
    expect(created.status, created.text).to.equal(201);
    const before = await client.get(`${path}/${slug}`);
    expect(before.json()).to.include({
      network: "internet",
      saveLimitMb: 512,
      stopGraceSeconds: 12,
    });
    const changed = await client.patch(`${path}/${slug}`, { saveLimitMb: 16 });
    expect(changed.json()).to.include({ network: "internet", saveLimitMb: 16 });
    expect(changed.headers.get("etag"), "the tag follows them").to.not.equal(before.headers.get("etag"));
    const slower = await client.patch(`${path}/${slug}`, { stopGraceSeconds: 19 });
    expect(slower.json()).to.include({ saveLimitMb: 16, stopGraceSeconds: 19 });
    expect(slower.headers.get("etag"), "the tag follows it too").to.not.equal(changed.headers.get("etag"));
    const none = { saveLimitMb: null, stopGraceSeconds: null };
    expect((await client.patch(`${path}/${slug}`, { network: null, ...none })).json()).to.include({
      network: "none",
      ...none,
    });
    for (const body of [
      { network: "lan" },
      { saveLimitMb: 15 },
      { saveLimitMb: 1025 },
      { saveLimitMb: "64" },
    ]) {
      const response = await client.patch(`${path}/${slug}`, body);
      expectErrorResponse(response, 400, "invalid_request");
      expect(response.json<{ details: { path: string }[] }>().details[0]?.path).to.equal(
        Object.keys(body)[0],
      );
    }
  });

  it("are copied to the session, with no network and the default save limit unless registered", async () => {
    const net = await aGame(api.deps);
    await api.deps.postgres.prisma.game.update({
      where: { id: net.id },
      data: { network: "internet", saveLimitMb: 64, stopGraceSeconds: 10 },
    });
    const open = await fixture.launched({ gameSlug: net.slug });
    expect(await specOf(open)).to.include({
      network: "Internet",
      saveVolumeBytes: 64 * mebibyte,
      stopGraceSeconds: 10,
    });
    await fixture.newPlayer();
    const closed = await fixture.launched();
    expect(await specOf(closed)).to.include({
      network: "None",
      saveVolumeBytes: limits.save.volumeBytes.default,
      stopGraceSeconds: 5,
    });
    expect(
      [open, closed].map((id) => id.replace(/[^-]+$/, "")),
      "told apart before the last part of their names",
    ).to.deep.equal(["gs-net-", "gs-"]);
  });

  it("leave enough room for the slot's save", async () => {
    const { id: slotId } = await aSaveSlot(api.deps, { user: fixture.user, game: fixture.game });
    const stored = {
      objectKey: saveKey(slotId, { generation: 1, gameSession: "gs-a", sequence: 1, attempt: 1 }),
      sha256: "a".repeat(64),
      bytes: 10,
      generation: 1,
      sequence: 1,
      unpackedBytes: 700 * mebibyte + 1,
      persistedAt: new Date().toISOString(),
      final: true,
    };
    const { id } = await aGameSessionRow(
      api.deps,
      { user: fixture.user, game: fixture.game },
      { id: "gs-a", slotId },
    );
    expect(await updateSlotSave(api.deps.postgres.pool, slotId, id, stored)).to.equal("moved");
    const data = {
      status: "stopped",
      endedAt: new Date(),
      recordedAt: new Date(),
      slotReleasedAt: new Date(),
    } as const;
    await api.deps.postgres.prisma.gameSession.update({ where: { id }, data });
    expect(await specOf(await fixture.launched())).to.include({ saveVolumeBytes: 701 * mebibyte });
  });

  describe("if the site does not allow network access", () => {
    let closed: LaunchFixture;

    before(async () => {
      closed = await LaunchFixture.start({ game: { launcher: "play.sh" } });
      await closed.newPlayer();
    });
    after(() => closed.stop());

    it("are refused at registration and change, with the field and the admin's setting", async () => {
      const theirs = await aPartner(closed.api.deps);
      const asked = closed.api.asPartner(theirs);
      const { slug } = await aGame(closed.api.deps, { partnerId: theirs.id });
      for (const response of [
        await asked.post(path, {
          ...metadata,
          title: "Net",
          slug: `net-${theirs.keyId}`,
          network: "internet",
        }),
        await asked.patch(`${path}/${slug}`, { network: "internet" }),
      ]) {
        expectErrorResponse(response, 400, "invalid_request");
        const { message, details } = response.json<{ message: string; details: { path: string }[] }>();
        expect(message).to.contain("games.network");
        expect(details[0]?.path).to.equal("network");
      }
      expect((await asked.get(path)).json()).to.include({ total: 1 });
      expect((await asked.get(`${path}/${slug}`)).json()).to.include({ network: "none" });
      expect((await asked.patch(`${path}/${slug}`, { network: "none" })).status).to.equal(200);
    });

    it("prevent the launch of a game that has network access, with a reason and without a trace", async () => {
      const { prisma } = closed.api.deps.postgres;
      await prisma.game.update({ where: { id: closed.game.id }, data: { network: "internet" } });
      const response = await closed.player.post("/api/game/launch", { gameSlug: closed.game.slug });
      expectErrorResponse(response, 409, "conflict");
      expect(response.json<{ message: string }>().message).to.contain("games.network");
      expect(await prisma.gameSession.count({ where: { userId: closed.user.id } })).to.equal(0);
      expect(await prisma.saveSlot.count({ where: { userId: closed.user.id } })).to.equal(0);
      await prisma.game.update({ where: { id: closed.game.id }, data: { network: "none" } });
      expect(await closed.launched()).to.be.a("string");
    });
  });
});
