import { expect } from "chai";
import { randomBytes } from "node:crypto";
import { request as httpRequest, type ClientRequest } from "node:http";
import { gzipSync } from "node:zlib";
import type { SaveSlotHistory } from "#contracts/http/saves.ts";
import { lockLaunches } from "#api/saves/playerSlotQueries.ts";
import { aGame } from "#test/factories/catalog.ts";
import { hostileEntries } from "#test/factories/hostileArchives.ts";
import { aTarGz } from "#test/factories/tarArchive.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { sha256Of } from "#test/support/fixtures/archives.ts";
import { aSave, SavesFixture } from "#test/support/fixtures/savesFixture.ts";
import { expectErrorResponse, type ApiResponse } from "#test/support/http/apiClient.ts";
import { responseTo } from "#test/support/http/httpResponse.ts";
import { RawClient, requestHead, sendThenRead } from "#test/support/http/rawHttp.ts";
import { responsesIn } from "#test/support/http/rawResponses.ts";

const gzip = { "content-type": "application/gzip" };
const mebibyte = 2 ** 20;

describe("transfers of saves", function () {
  this.timeout(60_000);
  let fixture: SavesFixture;
  let slotId: string;

  before(async () => {
    fixture = await SavesFixture.start();
    await fixture.api.deps.postgres.prisma.game.update({
      where: { id: fixture.game.id },
      data: { saveLimitMb: 16 },
    });
  });
  beforeEach(async () => {
    await fixture.launches.newPlayer();
    slotId = await fixture.aSlot();
  });
  after(() => fixture.stop());

  it("are counted, including copies and restores, which also move whole saves", async () => {
    const { id } = await fixture.aVersion(slotId, "one");
    const limited = await SavesFixture.start({ env: { SAVE_TRANSFERS_PER_HOUR: "1" } });
    try {
      await limited.launches.newPlayer();
      const slot = await limited.aSlot();
      const version = await limited.aVersion(slot, "one");
      expect((await limited.player.post(`${limited.path}/${slot}/copy`)).status).to.equal(201);
      expectErrorResponse(await limited.player.post(`${limited.path}/${slot}/copy`), 429, "rate_limited");
      expectErrorResponse(
        await limited.player.post(`${limited.path}/${slot}/restore`, { versionId: version.id }),
        429,
        "rate_limited",
      );
    } finally {
      await limited.stop();
    }
    expect((await downloaded(id)).status).to.equal(200);
  });

  function upload(
    body: Buffer,
    path = `${fixture.path}/${slotId}/archive`,
    headers: Record<string, string> = {},
  ): Promise<ApiResponse> {
    return fixture.player.post(path, body, { ...gzip, ...headers });
  }

  function cookies(): string {
    return [...fixture.player.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  }

  /** The bytes of a version, as they come. */
  async function downloaded(versionId: string): Promise<{ status: number; headers: Headers; bytes: Buffer }> {
    const cookie = cookies();
    const response = await fetch(
      `${fixture.api.url}${fixture.path}/${slotId}/versions/${versionId}/archive`,
      { headers: { cookie } },
    );
    return {
      status: response.status,
      headers: response.headers,
      bytes: Buffer.from(await response.arrayBuffer()),
    };
  }

  /** What an upload that changed nothing leaves: no object, no part of one, and the slot as it was. */
  async function expectNothingLeft(work: () => Promise<void>): Promise<void> {
    const state = async (): Promise<unknown> => ({
      objects: await fixture.objects(),
      saves: await fixture.saves(),
    });
    const before = await state();
    await work();
    await eventually(async () => (await fixture.unfinishedUploads()).length === 0, {
      what: "the upload to be aborted",
    });
    expect(await state()).to.deep.equal(before);
  }

  /** An upload whose bytes the test sends, when the store has a part of it. */
  async function begun(archive: Buffer): Promise<{ request: ClientRequest; response: Promise<number> }> {
    await fixture.saves(); // Signs the player in.
    const cookie = cookies();
    const request = httpRequest(`${fixture.api.url}${fixture.path}/${slotId}/archive`, {
      method: "POST",
      headers: { cookie, "content-length": String(archive.length), ...gzip },
    });
    const response = responseTo(request).then(({ status }) => status);
    response.catch(() => undefined);
    request.on("error", () => undefined);
    request.write(archive.subarray(0, -1000));
    await eventually(async () => (await fixture.unfinishedUploads()).some((key) => key.includes(slotId)), {
      what: "the upload to be taken on",
    });
    return { request, response };
  }

  /** The head of an upload of so many bytes into the slot. */
  function headOf(
    bytes: number,
    headers: Record<string, string>,
    path = `${fixture.path}/${slotId}/archive`,
  ): string {
    return requestHead(`POST ${path}`, {
      ...gzip,
      host: "x",
      cookie: cookies(),
      "content-length": String(bytes),
      ...headers,
    });
  }

  /** What the API says to the head of an upload of so many bytes, whose client waits to be asked for them. */
  async function announce(bytes: number): Promise<string> {
    const client = await RawClient.connect(fixture.api.url);
    client.write(headOf(bytes, { expect: "100-continue" }));
    await eventually(() => client.received !== "", { what: "a response" });
    if (client.received.startsWith("HTTP/1.1 100 ")) client.destroy();
    return client.untilClosed();
  }

  it("upload a download into its slot and into a new one, unchanged to the byte", async () => {
    const { id, archive } = await fixture.aVersion(slotId, "one");
    await fixture.aVersion(slotId, "two");
    await fixture.saves();
    const download = await downloaded(id);
    expect(download.status).to.equal(200);
    expect(download.bytes.equals(archive)).to.be.true;
    expect(download.headers.get("content-disposition")).to.match(
      new RegExp(`^attachment; filename="${fixture.game.slug}-slot1-\\d{8}-\\d{6}\\.tar\\.gz"$`),
    );
    expect(download.headers.get("repr-digest")).to.equal(
      `sha-256=:${Buffer.from(sha256Of(archive), "hex").toString("base64")}:`,
    );
    const into = await upload(download.bytes);
    expect(into.status, into.text).to.equal(200);
    expect(
      into.json<SaveSlotHistory>().versions.map(({ kind, isCurrent }) => [kind, isCurrent]),
    ).to.deep.equal([
      ["imported", true],
      ["played", false],
      ["played", false],
    ]);
    const anew = await upload(download.bytes, fixture.path);
    expect(anew.status, anew.text).to.equal(201);
    expect(anew.json()).to.include({ slotNumber: 2, label: "Playthrough 2", state: "free" });
    const rows = await fixture.api.deps.postgres.prisma.saveSlot.findMany({
      where: { userId: fixture.user.id },
    });
    for (const row of rows) expect(row).to.include({ sha256: sha256Of(archive), unpackedBytes: 4096n });
    expect(await fixture.launches.launched({ saveSlotId: slotId })).to.match(/^gs-/);
  });

  it("refuse a damaged or missing save before anything is sent", async () => {
    const whole = await fixture.aVersion(slotId, "one");
    const damaged = await fixture.aVersion(slotId, "two", { stored: aSave("TWO") });
    const cut = await fixture.aVersion(slotId, "three", { stored: aSave("three").subarray(0, -1) });
    for (const { id } of [damaged, cut]) {
      const response = await fixture.player.get(`${fixture.path}/${slotId}/versions/${id}/archive`);
      expectErrorResponse(response, 422, "unreadable_save");
      expect(response.json()).to.include({ versionId: whole.id });
    }
    await fixture.minio.client.removeObject(fixture.minio.bucket, whole.objectKey);
    const last = await fixture.player.get(`${fixture.path}/${slotId}/versions/${whole.id}/archive`);
    expectErrorResponse(last, 422, "unreadable_save");
    expect(last.json()).to.not.have.property("versionId");
  });

  it("refuse bodies that are not a save's archive, and leave nothing behind", async () => {
    await fixture.aVersion(slotId, "one");
    const bad = [
      Buffer.from("no gzip"),
      aSave("x").subarray(0, -5),
      Buffer.concat([aSave("x"), Buffer.from("more")]),
      gzipSync(Buffer.alloc(100, 1)),
      Buffer.alloc(0),
      aTarGz(Array.from({ length: 1001 }, () => ({ name: "./" }))),
    ];
    await expectNothingLeft(async () => {
      for (const body of bad) expectErrorResponse(await upload(body), 422, "invalid_archive");
      expectErrorResponse(await upload(bad[0]!, fixture.path), 422, "invalid_archive");
    });
  });

  it("refuse archives with entries outside their directory, or of unsupported types", async () => {
    // A game names its saves as it likes: what only a partner's archive must not have is none of these.
    const hostile = hostileEntries.filter(({ what }) => !/^(a name|twins)/.test(what));
    expect(hostile).to.have.length(12);
    await expectNothingLeft(async () => {
      for (const { what, entries } of hostile) {
        const response = await upload(aTarGz([{ name: "play.sh", body: "x" }, ...entries]));
        expect(response.status, what).to.equal(422);
        expectErrorResponse(response, 422, "invalid_archive");
      }
    });
  });

  it("refuse saves over the game's limit, packed or unpacked, whatever their compression", async () => {
    const zeros = aTarGz([{ name: "zeros", body: Buffer.alloc(16 * mebibyte + 1) }]);
    const pages = aTarGz(Array.from({ length: 4097 }, (_, index) => ({ name: `f${index}`, body: "x" })));
    await expectNothingLeft(async () => {
      for (const body of [zeros, pages]) expectErrorResponse(await upload(body), 413, "payload_too_large");
      const [refused] = responsesIn(await announce(80 * mebibyte + 1), ["POST"]);
      expect(refused).to.include({ status: 413, isWhole: true });
      expect(JSON.parse(refused?.text ?? "")).to.include({ error: "payload_too_large" });
      // What is not larger is asked for.
      expect(await announce(80 * mebibyte)).to.equal("HTTP/1.1 100 Continue\r\n\r\n");
    });
    expect((await upload(aTarGz([{ name: "zeros", body: Buffer.alloc(16 * mebibyte) }]))).status).to.equal(
      200,
    );
  });

  it("leave nothing of an interrupted upload, or of one whose slot was launched in the meantime", async () => {
    await fixture.aVersion(slotId, "one");
    const archive = aTarGz([{ name: "noise", body: randomBytes(12 * mebibyte) }]);
    await expectNothingLeft(async () => {
      const { request, response } = await begun(archive);
      request.destroy();
      await response.catch(() => undefined);
    });
    const late = await begun(archive);
    const objects = await fixture.objects();
    await fixture.launches.launched({ saveSlotId: slotId });
    late.request.end(archive.subarray(-1000));
    expect(await late.response).to.equal(409);
    expect(await fixture.objects()).to.deep.equal(objects);
  });

  for (const [what, pathOf] of [
    ["a slot", () => `${fixture.path}/${slotId}/archive`],
    ["a new one", () => fixture.path],
  ] as const) {
    it(`leave nothing of an upload into ${what} whose client disconnects after the last byte and before the commit`, async () => {
      await fixture.aVersion(slotId, "one");
      const [archive, requestId] = [aSave("cancelled"), `cancelled-${slotId}`];
      await expectNothingLeft(async () => {
        const { length } = await fixture.objects();
        // Nothing becomes a slot's save meanwhile.
        await fixture.api.deps.postgres.transaction(async () => {
          const client = await RawClient.connect(fixture.api.url);
          client.write(headOf(archive.length, { "x-request-id": requestId }, pathOf()));
          client.write(archive);
          await eventually(async () => (await fixture.objects()).length > length, {
            what: "the object store to have the whole archive",
          });
          client.destroy();
          await eventually(
            () =>
              fixture.api.logLines.some((line) => line.includes(requestId) && line.includes('"isCut":true')),
            { what: "the API to notice" },
          );
        }, lockLaunches);
        await eventually(async () => (await fixture.objects()).length === length, {
          what: "the object to be removed",
        });
      });
    });
  }

  it("receive one upload per player at a time, so that others find room", async () => {
    const archive = aTarGz([{ name: "noise", body: randomBytes(12 * mebibyte) }]);
    const first = await begun(archive);
    const second = await upload(aSave("two"), fixture.path);
    expectErrorResponse(second, 409, "conflict");
    expect(second.headers.get("retry-after")).to.equal("10");
    const { user } = fixture;
    await fixture.launches.newPlayer();
    expect((await upload(aSave("other"), fixture.path)).status).to.equal(201);
    first.request.end(archive.subarray(-1000));
    expect(await first.response).to.equal(200);
    const again = await fixture.api.as(user).post(fixture.path, aSave("two"), gzip);
    expect(again.status, again.text).to.equal(201);
  });

  it("check the digest header, the body's type and the slot before they request the body", async () => {
    const archive = aSave("x");
    expectErrorResponse(
      await upload(archive, undefined, {
        "content-digest": `sha-256=:${Buffer.alloc(32).toString("base64")}:`,
      }),
      400,
      "checksum_mismatch",
    );
    expectErrorResponse(
      await upload(archive, undefined, { "content-type": "application/zip" }),
      415,
      "unsupported_media_type",
    );
    await Promise.all([2, 3].map((number) => fixture.aSlot(number)));
    expectErrorResponse(await upload(archive, fixture.path), 409, "no_empty_slot");
    await fixture.launches.launched({ saveSlotId: slotId });
    expectErrorResponse(await upload(archive), 409, "slot_in_use");
    expectErrorResponse(
      await upload(archive, `/api/games/${(await aGame(fixture.api.deps)).slug}/saves/${slotId}/archive`),
      404,
      "not_found",
    );
  });

  it("return errors to a client that sends its whole body before it reads", async () => {
    await fixture.saves(); // Signs the player in.
    // More than both ends of a connection keep of what nobody reads.
    const body = Buffer.alloc(12 * mebibyte);
    const closing = { connection: "close" };
    const { slug } = await aGame(fixture.api.deps);
    const refused = [
      [headOf(body.length, closing, `/api/games/${slug}/saves/${slotId}/archive`), 404, "not_found"],
      [headOf(body.length, { ...closing, "content-type": "application/zip" }), 415, "unsupported_media_type"],
      [headOf(body.length, { ...closing, cookie: "none=none" }), 401, "unauthorized"],
    ] as const;
    for (const [head, status, code] of refused) {
      const [response] = responsesIn(await sendThenRead(fixture.api.url, head, body), ["POST"]);
      expect(response, code).to.include({ status, isWhole: true });
      expect(JSON.parse(response?.text ?? "")).to.include({ error: code });
    }
  }).timeout(20_000);

  it("return 503 while the object store is unavailable, and change nothing", async () => {
    const { id } = await fixture.aVersion(slotId, "one");
    const before = await fixture.saves();
    await fixture.minio.stop();
    try {
      expectErrorResponse(await upload(aSave("x")), 503, "unavailable");
      expectErrorResponse(await upload(aSave("x"), fixture.path), 503, "unavailable");
      expectErrorResponse(
        await fixture.player.get(`${fixture.path}/${slotId}/versions/${id}/archive`),
        503,
        "unavailable",
      );
      expectErrorResponse(await fixture.player.post(`${fixture.path}/${slotId}/copy`), 503, "unavailable");
    } finally {
      await fixture.minio.start();
    }
    expect(await fixture.saves()).to.deep.equal(before);
  });
});
