import { expect } from "chai";
import { saveKey, savePictureKey } from "#contracts/objectKeys.ts";
import { sweepSaves } from "#api/saves/sweepSaves.ts";
import { aGameSessionRow, aUser } from "#test/factories/catalog.ts";
import { aSavePicture } from "#test/factories/pictures.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { aSave, SavesFixture, type VersionOverrides } from "#test/support/fixtures/savesFixture.ts";
import { sha256Of } from "#test/support/fixtures/archives.ts";
import { expectErrorResponse } from "#test/support/http/apiClient.ts";

const hourMs = 3_600_000;

describe("pictures and play times of saves", function () {
  this.timeout(60_000);
  let fixture: SavesFixture;
  const picture = aSavePicture();

  before(async () => {
    fixture = await SavesFixture.start();
  });
  beforeEach(() => fixture.launches.newPlayer());
  after(() => fixture.stop());

  const prisma = () => fixture.api.deps.postgres.prisma;
  const put = (key: string, bytes: Buffer) =>
    fixture.minio.client.putObject(fixture.minio.bucket, key, bytes);

  /** Stores a version with a picture, as a node agent and the recorder do. */
  async function aSeenVersion(
    slotId: string,
    text: string,
    { bytes = picture, ...overrides }: VersionOverrides & { bytes?: Buffer } = {},
  ) {
    const version = await fixture.aVersion(slotId, text, overrides);
    await fixture.aPicture(slotId, version.objectKey, bytes);
    return version;
  }

  async function pictureOf(slotId: string, versionId: string): Promise<string> {
    const { versions } = await fixture.slot(slotId);
    const pictureId = versions.find(({ id }) => id === versionId)?.pictureId;
    return `${fixture.path}/${slotId}/pictures/${pictureId ?? "none"}`;
  }

  it("are recorded with the save that a node agent reports", async () => {
    const { launches, player } = fixture;
    const { sessionId } = (await player.post("/api/game/launch", { gameSlug: fixture.game.slug })).json<{
      sessionId: string;
    }>();
    await launches.makeReady(sessionId);
    const { slotId } = await launches.rowOf(sessionId);
    const save = async (sequence: number) => {
      const archive = aSave(`level ${sequence}`);
      const objectKey = saveKey(slotId!, { generation: 1, gameSession: sessionId, sequence, attempt: 1 });
      await put(objectKey, archive);
      if (sequence === 2) await put(savePictureKey(objectKey), picture);
      await launches.operator.report(sessionId, {
        save: {
          objectKey,
          sha256: sha256Of(archive),
          bytes: archive.length,
          generation: 1,
          sequence,
          persistedAt: new Date().toISOString(),
          final: false,
        },
      });
      await eventually(
        async () =>
          (await prisma().saveSlot.findUniqueOrThrow({ where: { id: slotId! } })).sequence === sequence,
      );
    };
    await save(1);
    expect((await fixture.slot(slotId!)).versions[0]).to.not.have.property("pictureId");
    await save(2);
    await eventually(async () => (await fixture.slot(slotId!)).versions[0]?.pictureId !== undefined);
    await launches.operator.finish(sessionId);
  });

  it("are sent to their player as JPEG, forever the same, and to nobody else", async () => {
    const slotId = await fixture.aSlot();
    const { id } = await aSeenVersion(slotId, "one");
    const path = await pictureOf(slotId, id);
    const response = await fixture.player.get(path);
    expect(response.status, response.text).to.equal(200);
    expect(Object.fromEntries(response.headers)).to.include({
      "content-type": "image/jpeg",
      "content-length": String(picture.length),
      "cache-control": "private, max-age=31536000, immutable",
      "x-content-type-options": "nosniff",
      "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
      "cross-origin-resource-policy": "same-origin",
    });
    const other = fixture.api.as(await aUser(fixture.api.deps));
    expectErrorResponse(await other.get(path), 404, "not_found");
    expectErrorResponse(await fixture.api.anonymous().get(path), 401, "unauthorized");
    const unknown = `${fixture.path}/${slotId}/pictures/${"0".repeat(32)}`;
    expectErrorResponse(await fixture.player.get(unknown), 404, "not_found");
    expectErrorResponse(
      await fixture.player.get(`${fixture.path}/${slotId}/pictures/../x`),
      404,
      "not_found",
    );
  });

  it("are not sent if the stored object is anything but a small JPEG, or is gone", async () => {
    const slotId = await fixture.aSlot();
    const html = await aSeenVersion(slotId, "one", { bytes: Buffer.from("<script>alert(1)</script>") });
    expectErrorResponse(await fixture.player.get(await pictureOf(slotId, html.id)), 404, "not_found");
    const lost = await aSeenVersion(slotId, "two");
    await fixture.minio.client.removeObject(fixture.minio.bucket, savePictureKey(lost.objectKey));
    expectErrorResponse(await fixture.player.get(await pictureOf(slotId, lost.id)), 404, "not_found");
  });

  it("are removed with their version, and kept with it", async () => {
    const slotId = await fixture.aSlot();
    const dropped = await aSeenVersion(slotId, "one", { kind: "requested" });
    const kept = await aSeenVersion(slotId, "two");
    const orphan = saveKey(slotId, { generation: 9, gameSession: "gs-never", sequence: 1, attempt: 1 });
    await put(savePictureKey(orphan), picture);
    await prisma().saveVersion.update({
      where: { id: dropped.id },
      data: { storedAt: new Date(Date.now() - 400 * 24 * hourMs) },
    });
    const older = { storedAt: new Date(Date.now() - 2 * hourMs) };
    await prisma().savePicture.updateMany({ where: { slotId }, data: older });
    for (let number = 0; number < 12; number++)
      await fixture.aVersion(slotId, `filler ${number}`, { kind: "conflict" });
    await prisma().saveSweep.updateMany({ where: { slotId }, data: { dueAt: new Date() } });
    await sweepSaves(fixture.api.deps, () => Promise.resolve(new Date(Date.now() + 2 * hourMs)));
    const objects = await fixture.objects(`saves/${slotId}/`);
    expect(objects).to.include.members([kept.objectKey, savePictureKey(kept.objectKey)]);
    for (const key of [dropped.objectKey, orphan].flatMap((key) => [key, savePictureKey(key)]))
      expect(objects).to.not.include(key);
    const rows = await prisma().savePicture.findMany({ where: { slotId } });
    expect(rows.map(({ objectKey }) => objectKey)).to.deep.equal([kept.objectKey]);
  });

  it("go along with a copy of an earlier version to an empty slot", async () => {
    const slotId = await fixture.aSlot();
    const start = Date.now() - 10 * hourMs;
    const session = await aGameSessionRow(
      fixture.api.deps,
      { user: fixture.user, game: fixture.game },
      {
        slotId,
        status: "stopped",
        startedAt: new Date(start),
        readyAt: new Date(start),
        endedAt: new Date(start + 2 * hourMs),
        durationSeconds: 7_200,
      },
    );
    const earlier = await aSeenVersion(slotId, "one", {
      storedAt: new Date(start + hourMs),
      gameSession: session.id,
    });
    await aSeenVersion(slotId, "two", { storedAt: new Date(start + 2 * hourMs) });
    const before = await fixture.slot(slotId);
    expect(before.playSeconds).to.equal(7_200);
    expect(before.versions.map(({ playSeconds }) => playSeconds)).to.deep.equal([7_200, 3_600]);

    const response = await fixture.player.post(`${fixture.path}/${slotId}/versions/${earlier.id}/copy`);
    expect(response.status, response.text).to.equal(201);
    const made = response.json<{ id: string }>();
    const copy = await fixture.slot(made.id);
    expect(copy).to.include({ slotNumber: 2, label: "Slot 1 (copy)", playSeconds: 3_600, state: "free" });
    expect(copy.versions).to.have.length(1);
    expect(copy.versions[0]).to.include({ kind: "imported", isCurrent: true, playSeconds: 3_600 });
    const copied = await fixture.player.get(await pictureOf(made.id, copy.versions[0]!.id));
    expect(copied.status).to.equal(200);
    expect((await fixture.slot(slotId)).versions).to.deep.equal(before.versions);

    await fixture.aSlot(3);
    expectErrorResponse(
      await fixture.player.post(`${fixture.path}/${slotId}/versions/${earlier.id}/copy`),
      409,
      "no_empty_slot",
    );
  });

  it("are not copied from unknown versions, by others, or from a slot in use", async () => {
    const slotId = await fixture.aSlot();
    const { id } = await fixture.aVersion(slotId, "one");
    const path = `${fixture.path}/${slotId}/versions`;
    expectErrorResponse(await fixture.player.post(`${path}/none/copy`), 404, "not_found");
    const other = fixture.api.as(await aUser(fixture.api.deps));
    expectErrorResponse(await other.post(`${path}/${id}/copy`), 404, "not_found");
    expectErrorResponse(await fixture.api.anonymous().post(`${path}/${id}/copy`), 401, "unauthorized");
    await fixture.launches.launched({ saveSlotId: slotId });
    expectErrorResponse(await fixture.player.post(`${path}/${id}/copy`), 409, "slot_in_use");
  });
});
