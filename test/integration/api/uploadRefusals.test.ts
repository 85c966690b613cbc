import { expect } from "chai";
import { createHash, randomBytes } from "node:crypto";
import { request as httpRequest } from "node:http";
import { Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import { packTar } from "modern-tar";
import { expectRefusal } from "../../support/apiClient.ts";
import { anArchive } from "../../support/archives.ts";
import { eventually } from "../../support/eventually.ts";
import { UploadStage } from "../../support/uploadStage.ts";

const maxBytes = 2 ** 20;
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
      const hostile = [
        ["../evil", await anArchive({ header: { name: "../evil", size: 1 }, body: "x" })],
        ["/etc/passwd", await anArchive({ header: { name: "/etc/passwd", size: 1 }, body: "x" })],
        ["engine/link", await anArchive({ header: { name: "engine/link", type: "symlink", size: 0, linkname: "/etc" } })],
        ["ENGINE", await anArchive({ header: { name: "ENGINE/x", size: 1 }, body: "x" })],
      ] as const;
      for (const [entry, archive] of hostile) {
        const response = await stage.upload(archive);
        expectRefusal(response, 422, "invalid_archive");
        expect(response.json<{ message: string }>().message).to.contain(entry);
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

    it("a bomb, early", async () => {
      const bomb = gzipSync(await packTar([{ header: { name: "engine/zeros", size: 2 ** 27 }, body: Buffer.alloc(2 ** 27) }]));
      expectRefusal(await stage.upload(bomb), 422, "invalid_archive");
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
