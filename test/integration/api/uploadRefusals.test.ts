import { expect } from "chai";
import { createHash, randomBytes } from "node:crypto";
import { request as httpRequest } from "node:http";
import { Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { constants, deflateRawSync, gzipSync } from "node:zlib";
import { packTar } from "modern-tar";
import { hostileEntries } from "../../factories/hostileArchives.ts";
import { aTar, aTarGz, tarEntry, type TarEntrySpec } from "../../factories/tarArchive.ts";
import { ApiClient, expectRefusal } from "../../support/apiClient.ts";
import { ApiProcess } from "../../support/apiProcess.ts";
import { anArchive } from "../../support/archives.ts";
import { eventually } from "../../support/eventually.ts";
import { UploadStage } from "../../support/uploadStage.ts";

const maxBytes = 16 * 2 ** 20;
/** What makes an archive a game. */
const game: readonly TarEntrySpec[] = [{ name: "play.sh", body: "#!/bin/sh\n", mode: 0o755 }, { name: "engine/" }];
const gzip = { "content-type": "application/gzip" };

describe("refused uploads", function () {
  this.timeout(180_000);
  let stage: UploadStage;

  before(async () => {
    stage = await UploadStage.start({ UPLOAD_MAX_BYTES: String(maxBytes), PARTNER_UPLOADS_PER_HOUR: "100" });
  });
  beforeEach(() => stage.newGame());
  after(() => stage.stop());

  describe("leave no trace:", () => {
    async function expectNothing(): Promise<void> {
      expect(await stage.stateOf()).to.include({ status: "pending_upload", currentVersionId: null });
      expect(await stage.objectKeys()).to.be.empty;
      await eventually(async () => (await stage.unfinishedUploads()).length === 0);
      expect(await stage.operator.cache(stage.game.slug)).to.be.undefined;
    }
    afterEach(expectNothing);

    it("hostile archives, naming the entry", async () => {
      for (const { what, entry, entries } of hostileEntries) {
        const response = await stage.upload(aTarGz([...game, ...entries]));
        expectRefusal(response, 422, "invalid_archive");
        const { message, details } = response.json<{ message: string; details: { path: string }[] }>();
        expect(message, what).to.contain(JSON.stringify(entry));
        expect(details.map(({ path }) => path), what).to.deep.equal([entry]);
      }
    });

    it("what is no archive, is cut, or has something after its end", async () => {
      const archive = await anArchive();
      for (const body of [Buffer.from("PK\x03\x04 not gzip"), archive.subarray(0, -9), Buffer.concat([archive, archive]), Buffer.concat([archive, Buffer.from("x")]), Buffer.alloc(0)]) {
        expectRefusal(await stage.upload(body), 422, "invalid_archive");
      }
    });

    it("an archive without the game's launcher or engine", async () => {
      const archive = gzipSync(await packTar([{ header: { name: "engine/x", size: 1 }, body: "x" }]));
      const response = await stage.upload(archive);
      expectRefusal(response, 422, "invalid_archive");
      expect(response.json<{ message: string }>().message).to.contain("play.sh");
    });

    it("an archive without end marker, an empty one, and another format under its name", async () => {
      const [withoutEnd, empty] = [gzipSync(Buffer.concat(game.map(tarEntry))), gzipSync(Buffer.alloc(0))];
      for (const body of [withoutEnd, empty, gzipSync(Buffer.from("PK\x03\x04")), gzipSync(gzipSync(aTar(game)))]) {
        expectRefusal(await stage.upload(body), 422, "invalid_archive");
      }
    });

    it("bombs and floods, in seconds and in little memory", async () => {
      const zeros = deflateRawSync(Buffer.alloc(64 * 2 ** 20), { level: 9, finishFlush: constants.Z_FULL_FLUSH });
      const bomb = gzipOf(flushed(tarEntry({ name: "engine/zeros", size: 8 * 2 ** 30 - 1 })), ...Array<Buffer>(200).fill(zeros));
      const longHeader = gzipOf(flushed(tarEntry({ name: "x", type: "x", size: 100 * 2 ** 20 })), zeros);
      // In a process of its own, whose memory is not that of this one, which holds the bombs.
      const served = await ApiProcess.beside(stage.api, { PARTNER_UPLOADS_PER_HOUR: "100" });
      try {
        const client = new ApiClient(served.url, Promise.resolve({ authorization: `Bearer ${stage.partner.key}` }));
        expectRefusal(await client.put(stage.path, await anArchive({ header: { name: "x", type: "fifo", size: 0 } }), gzip), 422, "invalid_archive");
        for (const body of [bomb, longHeader, await manyEntries(250_000)]) {
          served.resetPeak();
          const [startedMs, before] = [performance.now(), served.peakBytes];
          const response = await client.put(stage.path, body, gzip);
          expectRefusal(response, 422, "invalid_archive");
          expect(performance.now() - startedMs, response.text).to.be.below(5000);
          expect((served.peakBytes - before) / 2 ** 20, response.text).to.be.below(100);
        }
      } finally {
        await served.stop();
      }
    });

    it("digests that are malformed or not the body's", async () => {
      const archive = await anArchive();
      const other = createHash("sha256").update("other").digest("base64");
      expectRefusal(await stage.upload(archive, { "content-digest": `sha-256=:${other}:` }), 400, "checksum_mismatch");
      expectRefusal(await stage.upload(archive, { "repr-digest": `sha-256=:${other}:` }), 400, "checksum_mismatch");
      expectRefusal(await stage.upload(archive, { "content-digest": "sha-256=abc" }), 400, "invalid_request");
    });

    it("other types, encodings and sizes before the body", async () => {
      const archive = await anArchive();
      expectRefusal(await stage.upload(archive, { "content-type": "application/zip" }), 415, "unsupported_media_type");
      expectRefusal(await stage.upload(archive, { "content-encoding": "gzip" }), 415, "unsupported_media_type");
      const { status, continued } = await ask({ "content-length": String(2 ** 40), expect: "100-continue", ...gzip });
      expect({ status, continued }).to.deep.equal({ status: 413, continued: false });
    });

    it("a body that turns out too long, when its length was not announced", async () => {
      const data = randomBytes(maxBytes);
      const archive = await anArchive({ header: { name: "engine/more.bin", size: data.length }, body: data });
      const pieces = Readable.from([archive.subarray(0, 1000), archive.subarray(1000)], { objectMode: false });
      const response = await stage.upload(Readable.toWeb(pieces));
      expectRefusal(response, 413, "payload_too_large");
      expect(response.headers.get("connection")).to.equal("close");
    });

    it("an upload that is cut, and the place is free at once", async () => {
      const archive = await anArchive();
      const cut = await stage.beginUpload(archive);
      cut.request.write(archive.subarray(100, archive.length / 2));
      cut.request.destroy();
      await cut.answered.catch(() => undefined);
      await eventually(async () => await stage.uploadsUnderWay() === 0);
    });
  });

  /** Sends headers only; tells the final status and whether the body was asked for. */
  async function ask(headers: Record<string, string>, body?: Buffer): Promise<{ status: number; continued: boolean }> {
    return new Promise((resolve, reject) => {
      const request = httpRequest(stage.api.url + stage.path, { method: "PUT", headers: { authorization: `Bearer ${stage.partner.key}`, ...headers } });
      let continued = false;
      request.once("continue", () => {
        continued = true;
        request.end(body);
      });
      request.once("response", (response) => {
        response.resume();
        resolve({ status: response.statusCode ?? 0, continued });
        if (!continued) request.destroy();
      });
      request.once("error", reject);
      request.flushHeaders();
    });
  }

  it("asks a client that waits for its body only when it will take it", async () => {
    const archive = await anArchive();
    const expecting = { expect: "100-continue", "content-length": String(archive.length), ...gzip };
    expect(await ask(expecting, archive)).to.deep.equal({ status: 200, continued: true });
    expect(await ask({ ...expecting, authorization: "Bearer none" }, archive)).to.deep.equal({ status: 401, continued: false });
    expect(await ask({ ...expecting, "content-type": "text/plain" }, archive)).to.deep.equal({ status: 415, continued: false });
  });
});

/** Compressed, with an end at which something else can go on. */
function flushed(bytes: Buffer): Buffer {
  return deflateRawSync(bytes, { level: 1, finishFlush: constants.Z_FULL_FLUSH });
}

/** The beginning of a gzip stream of such pieces; nobody reads on to its end. */
function gzipOf(...pieces: Buffer[]): Buffer {
  return Buffer.concat([Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]), ...pieces]);
}

/** More empty files than an archive may have, made ten thousand at a time; in between the API in this process has its turn. */
async function manyEntries(count: number): Promise<Buffer> {
  const atOnce = 10_000;
  const pieces: Buffer[] = [];
  for (let first = 0; first < count; first += atOnce) {
    pieces.push(flushed(Buffer.concat(Array.from({ length: atOnce }, (_, at) => tarEntry({ name: `engine/${first + at}` })))));
    await setImmediate();
  }
  return gzipOf(...pieces);
}
