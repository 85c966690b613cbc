import { expect } from "chai";
import { createHash, randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import { packTar } from "modern-tar";
import type { RateLimitName } from "#api/http/rateLimits.ts";
import { hostileEntries } from "#test/factories/hostileArchives.ts";
import { aTar, aTarGz, tarEntry, type TarEntrySpec } from "#test/factories/tarArchive.ts";
import { expectErrorResponse } from "#test/support/http/apiClient.ts";
import { anArchive } from "#test/support/fixtures/archives.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { responsesIn } from "#test/support/http/rawResponses.ts";
import { exchange, RawClient, requestHead, sendThenRead } from "#test/support/http/rawHttp.ts";
import { UploadFixture } from "#test/support/fixtures/uploadFixture.ts";

const maxBytes = 16 * 2 ** 20;
/** What makes an archive a game. */
const game: readonly TarEntrySpec[] = [
  { name: "play.sh", body: "#!/bin/sh\n", mode: 0o755 },
  { name: "engine/" },
];

describe("refused uploads", function () {
  this.timeout(180_000);
  let fixture: UploadFixture;

  before(async () => {
    fixture = await UploadFixture.start({
      UPLOAD_MAX_BYTES: String(maxBytes),
      PARTNER_UPLOADS_PER_HOUR: "100",
    });
  });
  beforeEach(() => fixture.newGame());
  after(() => fixture.stop());

  /** The head of an upload, with these headers in place of the good ones. */
  function uploadHead(headers: Record<string, string>, path = fixture.path): string {
    return requestHead(`PUT ${path}`, {
      Host: "x",
      Authorization: `Bearer ${fixture.partner.key}`,
      "Content-Type": "application/gzip",
      ...headers,
    });
  }

  async function useUp(limit: RateLimitName, key: string): Promise<void> {
    for (let count = 0; count < 100; count += 1) await fixture.api.deps.rateLimits.consume(limit, key);
  }

  describe("leave no trace:", () => {
    afterEach(() => fixture.expectNoTrace());

    it("hostile archives, with the name of the entry", async () => {
      for (const { what, entry, entries } of hostileEntries) {
        const response = await fixture.upload(aTarGz([...game, ...entries]));
        expectErrorResponse(response, 422, "invalid_archive");
        const { message, details } = response.json<{ message: string; details: { path: string }[] }>();
        expect(message, what).to.contain(JSON.stringify(entry));
        expect(
          details.map(({ path }) => path),
          what,
        ).to.deep.equal([entry]);
      }
    });

    it("bodies that are not an archive, truncated, or have trailing bytes", async () => {
      const archive = await anArchive();
      for (const body of [
        Buffer.from("PK\x03\x04 not gzip"),
        archive.subarray(0, -9),
        Buffer.concat([archive, archive]),
        Buffer.concat([archive, Buffer.from("x")]),
        Buffer.alloc(0),
      ]) {
        expectErrorResponse(await fixture.upload(body), 422, "invalid_archive");
      }
    });

    it("an archive without the game's launcher or engine", async () => {
      const archive = gzipSync(await packTar([{ header: { name: "engine/x", size: 1 }, body: "x" }]));
      const response = await fixture.upload(archive);
      expectErrorResponse(response, 422, "invalid_archive");
      expect(response.json<{ message: string }>().message).to.contain("play.sh");
    });

    it("archives without end marker, empty ones, and other formats", async () => {
      const [withoutEnd, empty] = [gzipSync(Buffer.concat(game.map(tarEntry))), gzipSync(Buffer.alloc(0))];
      for (const body of [
        withoutEnd,
        empty,
        gzipSync(Buffer.from("PK\x03\x04")),
        gzipSync(gzipSync(aTar(game))),
      ]) {
        expectErrorResponse(await fixture.upload(body), 422, "invalid_archive");
      }
    });

    it("digests that are malformed or do not match", async () => {
      const archive = await anArchive();
      const other = createHash("sha256").update("other").digest("base64");
      expectErrorResponse(
        await fixture.upload(archive, { "content-digest": `sha-256=:${other}:` }),
        400,
        "checksum_mismatch",
      );
      expectErrorResponse(
        await fixture.upload(archive, { "repr-digest": `sha-256=:${other}:` }),
        400,
        "checksum_mismatch",
      );
      expectErrorResponse(
        await fixture.upload(archive, { "content-digest": "sha-256=abc" }),
        400,
        "invalid_request",
      );
    });

    it("other types and encodings", async () => {
      const archive = await anArchive();
      const [ofType, encoded] = [
        await fixture.upload(archive, { "content-type": "application/zip" }),
        await fixture.upload(archive, { "content-encoding": "gzip" }),
      ];
      for (const response of [ofType, encoded]) {
        expectErrorResponse(response, 415, "unsupported_media_type");
        expect(response.headers.get("accept")).to.equal("application/gzip, application/x-gzip");
      }
      expect([ofType.headers.get("accept-encoding"), encoded.headers.get("accept-encoding")]).to.deep.equal([
        null,
        "identity",
      ]);
      expect(encoded.json<{ message: string }>().message).to.equal(
        "The body must be application/gzip or application/x-gzip without Content-Encoding.",
      );
    });

    it("a body that turns out too long", async () => {
      const data = randomBytes(maxBytes);
      const archive = await anArchive({ header: { name: "engine/more.bin", size: data.length }, body: data });
      const pieces = Readable.from([archive.subarray(0, 1000), archive.subarray(1000)], {
        objectMode: false,
      });
      const response = await fixture.upload(Readable.toWeb(pieces));
      expectErrorResponse(response, 413, "payload_too_large");
      expect(response.headers.get("connection")).to.equal("close");
      expect(response.headers.get("upload-limit")).to.equal(`max-size=${maxBytes}`);
    });

    it("an interrupted upload, whose place is free immediately", async () => {
      const archive = await anArchive();
      const cut = await fixture.beginUpload(archive);
      cut.request.write(archive.subarray(100, archive.length / 2));
      cut.request.destroy();
      await cut.response.catch(() => undefined);
      await eventually(async () => (await fixture.uploadsUnderWay()) === 0);
    });
  });

  describe("are refused before the body is requested:", () => {
    const body = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";

    /** A partner who waits to be asked. */
    function headOf(headers: Record<string, string> = {}, path = fixture.path): string {
      return uploadHead({ "Content-Length": String(body.length), Expect: "100-continue", ...headers }, path);
    }

    /** Whether the client waits or does not: what it meant as its body is never taken for a request. */
    async function expectRefused(head: string, status: number, code: string): Promise<void> {
      for (const sent of [head, head + body]) {
        const received = await exchange(fixture.api.url, sent);
        expect(received, head).to.not.contain("100 Continue");
        const [response, ...more] = responsesIn(received, []);
        expect(more).to.be.empty;
        expect(response, received).to.include({ status, isWhole: true });
        expect(response?.headers.get("connection")).to.equal("close");
        expect(JSON.parse(response?.text ?? "")).to.include({ error: code });
      }
    }

    const cases: [what: string, status: number, code: string, head: () => Promise<string> | string][] = [
      ["a wrong key", 401, "unauthorized", () => headOf({ Authorization: "Bearer none" })],
      [
        "a suspended partner",
        403,
        "forbidden",
        async () => {
          await fixture.api.deps.postgres.prisma.partner.update({
            where: { id: fixture.partner.id },
            data: { suspendedAt: new Date() },
          });
          return headOf();
        },
      ],
      ["an unknown game", 404, "not_found", () => headOf({}, "/api/partners/games/no-such-game/upload")],
      ["an impossible name", 404, "not_found", () => headOf({}, "/api/partners/games/-/upload")],
      ["another method", 405, "method_not_allowed", () => headOf().replace("PUT", "PATCH")],
      ["another address", 404, "not_found", () => headOf({}, "/api/nothing")],
      [
        "an upload under way",
        409,
        "upload_in_progress",
        async () => {
          await fixture.beginUpload(await anArchive());
          return headOf();
        },
      ],
      ["another state of the game", 412, "precondition_failed", () => headOf({ "If-Match": '"none"' })],
      ["a digest that is none", 400, "invalid_request", () => headOf({ "Content-Digest": "sha-256=abc" })],
      [
        "the rest of an archive",
        400,
        "invalid_request",
        () => headOf({ "Content-Range": `bytes 100-${99 + body.length}/${100 + body.length}` }),
      ],
      [
        "the beginning of an archive",
        400,
        "invalid_request",
        () => headOf({ "Content-Range": `bytes 0-${body.length - 1}/${body.length + 100}` }),
      ],
      [
        "a part of an archive of unknown size",
        400,
        "invalid_request",
        () => headOf({ "Content-Range": `bytes 0-${body.length - 1}/*` }),
      ],
      [
        "a size above the limit",
        413,
        "payload_too_large",
        () => headOf({ "Content-Length": String(2 ** 40) }),
      ],
      ["another type", 415, "unsupported_media_type", () => headOf({ "Content-Type": "application/zip" })],
      ["an encoding", 415, "unsupported_media_type", () => headOf({ "Content-Encoding": "gzip" })],
      [
        "too many uploads",
        429,
        "rate_limited",
        async () => {
          await useUp("upload", fixture.partner.id);
          return headOf();
        },
      ],
      [
        "too many requests",
        429,
        "rate_limited",
        async () => {
          await useUp("partner", fixture.partner.keyId);
          return headOf();
        },
      ],
    ];
    for (const [what, status, code, head] of cases) {
      it(`${what} (${status})`, async () => {
        await expectRefused(await head(), status, code);
      });
    }

    it("and only an acceptable body is requested", async () => {
      const archive = await anArchive();
      const client = await RawClient.connect(fixture.api.url);
      const range = `bytes 0-${archive.length - 1}/${archive.length}`;
      client.write(
        headOf({ "Content-Length": String(archive.length), "Content-Range": range, Connection: "close" }),
      );
      await eventually(() => client.received.startsWith("HTTP/1.1 100 Continue\r\n\r\n"), {
        what: "the leave to send",
      });
      client.write(archive);
      expect(responsesIn(await client.untilClosed(), [])[0]).to.include({ status: 200 });
    });
  });

  describe("are reported to clients that send their whole body before they read:", () => {
    /** More than both ends of a connection keep of what nobody reads. */
    const body = Buffer.alloc(12 * 2 ** 20);
    const unknownGame = "/api/partners/games/no-such-game/upload";

    function headOf(headers: Record<string, string> = {}, path = fixture.path): string {
      return uploadHead({ "Content-Length": String(body.length), Connection: "close", ...headers }, path);
    }

    const cases: [what: string, status: number, code: string, head: () => Promise<string> | string][] = [
      ["a wrong key", 401, "unauthorized", () => headOf({ Authorization: "Bearer none" })],
      ["an unknown game", 404, "not_found", () => headOf({}, unknownGame)],
      ["another address", 404, "not_found", () => headOf({}, "/api/nothing")],
      ["another type", 415, "unsupported_media_type", () => headOf({ "Content-Type": "application/zip" })],
      [
        "too many uploads",
        429,
        "rate_limited",
        async () => {
          await useUp("upload", fixture.partner.id);
          return headOf();
        },
      ],
    ];
    for (const [what, status, code, head] of cases) {
      it(`${what} (${status})`, async () => {
        const [response, ...more] = responsesIn(await sendThenRead(fixture.api.url, await head(), body), [
          "PUT",
        ]);
        expect(more).to.be.empty;
        expect(response).to.include({ status, isWhole: true });
        expect(JSON.parse(response?.text ?? "")).to.include({ error: code });
      }).timeout(20_000);
    }

    it("but an endless body is read only within bounds", async () => {
      const client = await RawClient.connect(fixture.api.url);
      client.write(headOf({ "Content-Length": String(2 ** 40) }, unknownGame));
      const mebibyte = Buffer.alloc(2 ** 20);
      let sent = 0;
      while (
        await client.sendBody(mebibyte).then(
          () => true,
          () => false,
        )
      )
        sent += 1;
      // 64 are read, and both ends keep some.
      expect(sent).to.be.below(128);
      await client.untilClosed();
    }).timeout(20_000);
  });
});

/** Compressed, with an end at which something else can go on. */
