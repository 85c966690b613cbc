import { expect } from "chai";
import { aGame, aGameSessionRow, aUser } from "#test/factories/catalog.ts";
import { aCondition } from "#test/factories/gameSession.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { expectErrorResponse } from "#test/support/http/apiClient.ts";
import { SavesFixture } from "#test/support/fixtures/savesFixture.ts";

describe("a player's saves", function () {
  this.timeout(60_000);
  let fixture: SavesFixture;
  let slotId: string;

  before(async () => {
    fixture = await SavesFixture.start();
  });
  beforeEach(async () => {
    await fixture.launches.newPlayer();
    slotId = await fixture.aSlot();
  });
  after(() => fixture.stop());

  /** As a session that plays the slot, or one whose last save has not come. */
  async function own(status: "running" | "stopped"): Promise<string> {
    if (status === "running") {
      const session = await fixture.launches.launched({ saveSlotId: slotId });
      await fixture.launches.makeReady(session);
      return session;
    }
    const { id } = await aGameSessionRow(
      fixture.api.deps,
      { user: fixture.user, game: fixture.game },
      { slotId, status, endedAt: new Date() },
    );
    return id;
  }

  describe("GET /api/games/:slug/saves", () => {
    it("shows three slots with their versions, newest first, and each slot's current version", async () => {
      const [first, second] = [
        await fixture.aVersion(slotId, "one"),
        await fixture.aVersion(slotId, "second"),
      ];
      const conflict = await fixture.aVersion(slotId, "elsewhere", { kind: "conflict", generation: 2 });
      const { slots, saveBytesMax } = await fixture.saves();
      expect(saveBytesMax).to.equal(256 * 2 ** 20);
      expect(slots.map(({ slotNumber, state }) => [slotNumber, state])).to.deep.equal([
        [1, "free"],
        [2, "empty"],
        [3, "empty"],
      ]);
      expect(
        slots[0]!.versions.map(({ id, kind, isCurrent, isReadable, bytes }) => ({
          id,
          kind,
          isCurrent,
          isReadable,
          bytes,
        })),
      ).to.deep.equal([
        {
          id: conflict.id,
          kind: "conflict",
          isCurrent: false,
          isReadable: true,
          bytes: conflict.archive.length,
        },
        { id: second.id, kind: "played", isCurrent: true, isReadable: true, bytes: second.archive.length },
        { id: first.id, kind: "played", isCurrent: false, isReadable: true, bytes: first.archive.length },
      ]);
      expect(slots[1]).to.deep.equal({
        id: null,
        slotNumber: 2,
        label: null,
        lastPlayedAt: null,
        state: "empty",
        versions: [],
      });
    });

    it("shows the state of a slot in use", async () => {
      const id = await own("running");
      expect((await fixture.slot(slotId)).state).to.equal("playing");
      await fixture.api.deps.postgres.prisma.gameSession.update({
        where: { id },
        data: { status: "stopped", endedAt: new Date() },
      });
      expect((await fixture.slot(slotId)).state).to.equal("storing");
      await fixture.api.deps.postgres.prisma.gameSession.update({
        where: { id },
        data: { slotReleasedAt: new Date() },
      });
      expect((await fixture.slot(slotId)).state).to.equal("free");
    });

    it("shows the saves of an unavailable game to players who have some, for download and deletion only", async () => {
      const { deps } = fixture.api;
      const gone = await aGame(deps);
      const path = `/api/games/${gone.slug}/saves`;
      const slot = await deps.postgres.prisma.saveSlot.create({
        data: { userId: fixture.user.id, gameId: gone.id, number: 1, label: "Playthrough 1" },
      });
      const { id, archive } = await fixture.aVersion(slot.id, "kept");
      await deps.postgres.prisma.game.update({ where: { id: gone.id }, data: { deletedAt: new Date() } });
      expect((await fixture.player.get(path)).status).to.equal(200);
      expectErrorResponse(await fixture.api.as(await aUser(deps)).get(path), 404, "not_found");
      const download = await fixture.player.get(`${path}/${slot.id}/versions/${id}/archive`);
      expect(Number(download.headers.get("content-length"))).to.equal(archive.length);
      expectErrorResponse(
        await fixture.player.post(`${path}/${slot.id}/restore`, { versionId: id }),
        409,
        "conflict",
      );
      expectErrorResponse(await fixture.player.post(`${path}/${slot.id}/copy`), 409, "conflict");
      expect((await fixture.player.delete(`${path}/${slot.id}`)).status).to.equal(204);
      expectErrorResponse(await fixture.player.get(path), 404, "not_found");
    });
  });

  describe("POST /api/games/:slug/saves/:slotId/restore", () => {
    it("makes an earlier version the slot's save again, in a new generation with the same object", async () => {
      const first = await fixture.aVersion(slotId, "one");
      const second = await fixture.aVersion(slotId, "two");
      const response = await fixture.player.post(`${fixture.path}/${slotId}/restore`, {
        versionId: first.id,
      });
      expect(response.status, response.text).to.equal(200);
      const [restored, replaced] = (await fixture.slot(slotId)).versions;
      expect(response.json()).to.deep.equal(await fixture.slot(slotId));
      expect(restored).to.include({ kind: "restored", isCurrent: true });
      expect(replaced).to.include({ id: second.id, isCurrent: false });
      const row = await fixture.api.deps.postgres.prisma.saveSlot.findUniqueOrThrow({
        where: { id: slotId },
      });
      expect(row).to.include({ generation: 3, objectKey: first.objectKey, savedBySession: null });
      const session = await fixture.launches.launched();
      const { spec } = await fixture.launches.operator.session(session);
      expect(spec.saveSlot).to.include({ generation: 3, objectKey: first.objectKey });
    });

    it("changes nothing if the slot already has that save, or if the request is repeated with the same key", async () => {
      const first = await fixture.aVersion(slotId, "one");
      const second = await fixture.aVersion(slotId, "two");
      const restore = (versionId: string) =>
        fixture.player.post(
          `${fixture.path}/${slotId}/restore`,
          { versionId },
          { "idempotency-key": `once-${versionId}` },
        );
      expect((await restore(second.id)).status).to.equal(200);
      expect((await fixture.slot(slotId)).versions).to.have.length(2);
      expect((await restore(first.id)).text).to.equal((await restore(first.id)).text);
      expect((await fixture.slot(slotId)).versions).to.have.length(3);
      expect(
        (await fixture.player.post(`${fixture.path}/${slotId}/restore`, { versionId: first.id })).status,
      ).to.equal(200);
      expect((await fixture.slot(slotId)).versions).to.have.length(3);
    });

    it("refuses a slot with an owner, even while its last save is being stored", async () => {
      const { id } = await fixture.aVersion(slotId, "one");
      await fixture.aVersion(slotId, "two");
      const session = await own("running");
      expectErrorResponse(
        await fixture.player.post(`${fixture.path}/${slotId}/restore`, { versionId: id }),
        409,
        "slot_in_use",
      );
      await fixture.api.deps.postgres.prisma.gameSession.update({
        where: { id: session },
        data: { status: "stopped", endedAt: new Date() },
      });
      const storing = await fixture.player.post(`${fixture.path}/${slotId}/restore`, { versionId: id });
      expectErrorResponse(storing, 409, "slot_in_use");
      expect(storing.headers.get("retry-after")).to.equal("10");
    });

    it("runs either before or after a concurrent launch, which starts from the slot's save at that time", async () => {
      const { prisma } = fixture.api.deps.postgres;
      for (let round = 0; round < 12; round++) {
        await fixture.launches.newPlayer();
        slotId = await fixture.aSlot();
        const first = await fixture.aVersion(slotId, "one");
        await fixture.aVersion(slotId, "two");
        const restoring = (): Promise<{ status: number }> =>
          fixture.player.post(`${fixture.path}/${slotId}/restore`, { versionId: first.id });
        const launching = (): Promise<{ status: number; text: string }> =>
          fixture.player.post("/api/game/launch", { gameSlug: fixture.game.slug, saveSlotId: slotId });
        const [restored, launched] = await Promise.all([restoring(), launching()]);
        expect(launched.status, launched.text).to.equal(202);
        expect(restored.status).to.be.oneOf([200, 409]);
        const slot = await prisma.saveSlot.findUniqueOrThrow({ where: { id: slotId } });
        const { spec } = await prisma.gameSession.findFirstOrThrow({ where: { slotId } });
        expect(
          (spec as { saveSlot: { generation: number } }).saveSlot.generation,
          `restore ${restored.status}`,
        ).to.equal(slot.generation);
      }
    });

    it("refuses a missing or damaged version, records it, and names the newest readable one before it", async () => {
      const oldest = await fixture.aVersion(slotId, "one");
      const damaged = await fixture.aVersion(slotId, "two", { stored: Buffer.from("rotten") });
      const missing = await fixture.aVersion(slotId, "three");
      await fixture.aVersion(slotId, "four");
      await fixture.minio.client.removeObject(fixture.minio.bucket, missing.objectKey);
      for (const { id } of [damaged, missing]) {
        const refused = await fixture.player.post(`${fixture.path}/${slotId}/restore`, { versionId: id });
        expectErrorResponse(refused, 422, "unreadable_save");
        expect(refused.json()).to.include({ versionId: oldest.id });
      }
      const unreadable = (await fixture.slot(slotId)).versions
        .filter(({ isReadable }) => !isReadable)
        .map(({ id }) => id);
      expect(unreadable).to.have.members([damaged.id, missing.id]);
      expect(
        (await fixture.player.post(`${fixture.path}/${slotId}/restore`, { versionId: oldest.id })).status,
      ).to.equal(200);
    });
  });

  describe("PATCH and DELETE /api/games/:slug/saves/:slotId", () => {
    it("names a slot, also in the catalogue, and restores the default name", async () => {
      await fixture.aVersion(slotId, "one");
      const rename = (label: string) => fixture.player.patch(`${fixture.path}/${slotId}`, { label });
      const labelInCatalogue = async (): Promise<string> =>
        (await fixture.player.get(`/api/games/${fixture.game.slug}`)).json<{
          saveSlots: { label: string }[];
        }>().saveSlots[0]!.label;
      expect((await rename("  Cafe\u0301 ")).json()).to.include({ label: "Caf\u00e9" });
      expect(await labelInCatalogue()).to.equal("Caf\u00e9");
      expect((await rename("\u{1F600}".repeat(40))).status).to.equal(200);
      expectErrorResponse(await rename("x".repeat(41)), 400, "invalid_request");
      expectErrorResponse(await rename("a\nb"), 400, "invalid_request");
      expect((await rename("")).json()).to.include({ label: "Playthrough 1" });
      expect(await labelInCatalogue()).to.equal("Playthrough 1");
    });

    it("empties a slot without an owner, and leaves its saves to the sweeper", async () => {
      const { objectKey } = await fixture.aVersion(slotId, "one");
      const session = await own("running");
      expectErrorResponse(await fixture.player.delete(`${fixture.path}/${slotId}`), 409, "slot_in_use");
      await fixture.api.deps.postgres.prisma.gameSession.update({
        where: { id: session },
        data: { status: "stopped", endedAt: new Date(), slotReleasedAt: new Date() },
      });
      expect((await fixture.player.delete(`${fixture.path}/${slotId}`)).status).to.equal(204);
      expect((await fixture.saves()).slots[0]).to.include({ id: null, state: "empty" });
      expect(
        (await fixture.api.deps.postgres.prisma.saveSweep.findUniqueOrThrow({ where: { slotId } }))
          .slotDeletedAt,
      ).to.not.be.null;
      expect(await fixture.objects(`saves/${slotId}/`)).to.deep.equal([objectKey]);
      expect(
        (await fixture.player.post("/api/game/launch", { gameSlug: fixture.game.slug, fresh: true })).status,
      ).to.equal(202);
    });
  });

  describe("POST /api/games/:slug/saves/:slotId/copy", () => {
    it("copies the save into the lowest empty slot, which is then independent", async () => {
      await fixture.aVersion(slotId, "one");
      await fixture.player.patch(`${fixture.path}/${slotId}`, { label: "Before the boss" });
      const response = await fixture.player.post(`${fixture.path}/${slotId}/copy`);
      expect(response.status, response.text).to.equal(201);
      const copy = response.json<{
        id: string;
        slotNumber: number;
        label: string;
        versions: { id: string; kind: string; isCurrent: boolean }[];
      }>();
      expect(copy).to.include({ slotNumber: 2, label: "Before the boss (copy)" });
      expect(copy.versions.map(({ kind, isCurrent }) => [kind, isCurrent])).to.deep.equal([
        ["imported", true],
      ]);
      expect(
        await fixture.api.deps.postgres.prisma.saveSweep.count({
          where: { slotId: copy.id, slotDeletedAt: { not: null } },
        }),
      ).to.equal(0);
      expect((await fixture.player.delete(`${fixture.path}/${slotId}`)).status).to.equal(204);
      await fixture.minio.client.removeObjects(
        fixture.minio.bucket,
        await fixture.objects(`saves/${slotId}/`),
      );
      expect(
        (await fixture.player.get(`${fixture.path}/${copy.id}/versions/${copy.versions[0]!.id}/archive`))
          .status,
      ).to.equal(200);
    });

    it("needs an empty slot, which only one of two concurrent copies gets, and leaves nothing of the other", async () => {
      await fixture.aVersion(slotId, "one");
      await fixture.aSlot(2);
      const before = await fixture.objects();
      const responses = await Promise.all(
        [1, 2].map(() => fixture.player.post(`${fixture.path}/${slotId}/copy`)),
      );
      expect(responses.map(({ status }) => status).toSorted()).to.deep.equal([201, 409]);
      expect(await fixture.objects()).to.have.length(before.length + 1);
      expectErrorResponse(await fixture.player.post(`${fixture.path}/${slotId}/copy`), 409, "no_empty_slot");
    });

    it("is recorded in the audit trail with its source and request, like all changes of saves", async () => {
      const { deps } = fixture.api;
      const { id: first } = await fixture.aVersion(slotId, "one");
      await fixture.aVersion(slotId, "two");
      const responses = [
        await fixture.player.post(`${fixture.path}/${slotId}/copy`),
        await fixture.player.post(`${fixture.path}/${slotId}/restore`, { versionId: first }),
        await fixture.player.delete(`${fixture.path}/${slotId}`),
      ];
      await deps.audit.settled();
      const events = await deps.postgres.prisma.auditEvent.findMany({
        where: { actorId: fixture.user.id, subjectKind: "saveSlot" },
      });
      // No request waits for its event, so that two may be stored in either order.
      expect(
        events.map(({ action, ipPrefix, requestId }) => ({ action, ipPrefix, requestId })),
      ).to.have.deep.members(
        ["save.copied", "save.restored", "saveSlot.deleted"].map((action, index) => ({
          action,
          ipPrefix: "127.0.0.0/24",
          requestId: responses[index]?.headers.get("x-request-id"),
        })),
      );
    });

    it("refuses a slot in use and one without a save", async () => {
      expectErrorResponse(await fixture.player.post(`${fixture.path}/${slotId}/copy`), 409, "conflict");
      await fixture.aVersion(slotId, "one");
      await own("running");
      expectErrorResponse(await fixture.player.post(`${fixture.path}/${slotId}/copy`), 409, "slot_in_use");
    });
  });

  it("can be launched from the version before after a launch found the slot's save damaged", async () => {
    const earlier = await fixture.aVersion(slotId, "one");
    const damaged = await fixture.aVersion(slotId, "two", { stored: Buffer.from("rotten") });
    const { operator } = fixture.launches;
    const session = await fixture.launches.launched({ saveSlotId: slotId });
    await operator.report(session, {
      conditions: [aCondition("SaveRestored", { status: "False", reason: "ChecksumMismatch" })],
    });
    await operator.finish(session, {
      stopReason: "Failed",
      failure: { reason: "ChecksumMismatch", message: "Damaged." },
    });
    await fixture.launches.ended(session);
    const status = (await fixture.player.get(`/api/game/session-status?sessionId=${session}`)).json();
    expect(status).to.include({ status: "error", endReason: "failed" });
    expect(status.message).to.contain("Restore the previous version");
    await eventually(async () => (await fixture.slot(slotId)).state === "free", {
      what: "the slot to be free",
    });
    expect((await fixture.slot(slotId)).versions.map(({ id, isReadable }) => [id, isReadable])).to.deep.equal(
      [
        [damaged.id, false],
        [earlier.id, true],
      ],
    );
    const refused = await fixture.player.post("/api/game/launch", {
      gameSlug: fixture.game.slug,
      saveSlotId: slotId,
    });
    expectErrorResponse(refused, 422, "unreadable_save");
    expect(refused.json()).to.include({ versionId: earlier.id });
    expect(
      (await fixture.player.post(`${fixture.path}/${slotId}/restore`, { versionId: earlier.id })).status,
    ).to.equal(200);
    const { spec } = await operator.session(await fixture.launches.launched({ saveSlotId: slotId }));
    expect(spec.saveSlot.objectKey).to.equal(earlier.objectKey);
  });

  it("are not accessible to other players: neither slots nor versions", async () => {
    const { id: versionId } = await fixture.aVersion(slotId, "one");
    const victim = slotId;
    await fixture.launches.newPlayer();
    const own2 = await fixture.aSlot();
    await fixture.aVersion(own2, "mine");
    const other = await aGame(fixture.api.deps);
    const send = (path: string) => [
      () => fixture.player.post(`${path}/restore`, { versionId }),
      () => fixture.player.patch(path, { label: "mine" }),
      () => fixture.player.delete(path),
      () => fixture.player.post(`${path}/copy`),
      () => fixture.player.get(`${path}/versions/${versionId}/archive`),
      () => fixture.player.post(`${path}/archive`, Buffer.from("x"), { "content-type": "application/gzip" }),
    ];
    for (const request of send(`${fixture.path}/${victim}`))
      expectErrorResponse(await request(), 404, "not_found");
    for (const request of send(`/api/games/${other.slug}/saves/${own2}`))
      expectErrorResponse(await request(), 404, "not_found");
    expectErrorResponse(
      await fixture.player.post(`${fixture.path}/${own2}/restore`, { versionId }),
      404,
      "not_found",
    );
    expectErrorResponse(
      await fixture.player.get(`${fixture.path}/${own2}/versions/${versionId}/archive`),
      404,
      "not_found",
    );
    expect((await fixture.saves()).slots.flatMap(({ versions }) => versions)).to.have.length(1);
  });
});
