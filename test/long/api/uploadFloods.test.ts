import { expect } from "chai";
import { Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { constants, deflateRawSync } from "node:zlib";
import { limits } from "#contracts/limits.ts";
import { paxHeader, tarEntry } from "#test/factories/tarArchive.ts";
import { expectErrorResponse } from "#test/support/http/apiClient.ts";
import { ApiProcess } from "#test/support/http/apiProcess.ts";
import { anArchive } from "#test/support/fixtures/archives.ts";
import { medianOf } from "#test/bench/mannWhitney.ts";
import { latenciesDuring } from "#test/support/http/latencies.ts";
import { UploadFixture } from "#test/support/fixtures/uploadFixture.ts";

const gzip = { "content-type": "application/gzip" };

describe("uploads of bombs and floods", function () {
  this.timeout(180_000);
  let fixture: UploadFixture;

  before(async () => {
    fixture = await UploadFixture.start({
      UPLOAD_MAX_BYTES: String(16 * 2 ** 20),
      PARTNER_UPLOADS_PER_HOUR: "100",
    });
  });
  beforeEach(() => fixture.newGame());
  afterEach(() => fixture.expectNoTrace());
  after(() => fixture.stop());

  it("are rejected within seconds with little memory, and leave no trace", async () => {
    const zeros = deflateRawSync(Buffer.alloc(64 * 2 ** 20), {
      level: 9,
      finishFlush: constants.Z_FULL_FLUSH,
    });
    const bombOf = (gibibytes: number): Buffer =>
      gzipOf(
        flushed(tarEntry({ name: "engine/zeros", size: 8 * 2 ** 30 - 1 })),
        ...Array<Buffer>(gibibytes * 16).fill(zeros),
      );
    const ofUnknownSize = (body: Buffer): ReadableStream =>
      Readable.toWeb(Readable.from([body], { objectMode: false }));
    const longHeader = gzipOf(flushed(tarEntry({ name: "x", type: "x", size: 100 * 2 ** 20 })), zeros);
    // In a process of its own, whose memory is not that of this one, which holds the bombs.
    const served = await ApiProcess.beside(fixture.api, { PARTNER_UPLOADS_PER_HOUR: "100" });
    try {
      const client = fixture.api.asPartner(fixture.partner, served);
      expectErrorResponse(
        await client.put(
          fixture.path,
          await anArchive({ header: { name: "x", type: "fifo", size: 0 } }),
          gzip,
        ),
        422,
        "invalid_archive",
      );
      const globalHeaders = gzipOf(
        ...Array<Buffer>(32).fill(
          flushed(Buffer.concat(Array<Buffer>(2048).fill(tarEntry({ name: "x", type: "g" })))),
        ),
      );
      const floods = [
        [bombOf(4), "unpacks to more than 200 times"],
        [ofUnknownSize(bombOf(42)), "starts with data that unpacks to far more than 200 times"],
        [longHeader, "header"],
        [await manyEntries(1_000_000), "more than 200000 files and directories"],
        [globalHeaders, "1000 headers"],
        [await longPaths(50_000), "paths of more than 32000000 bytes"],
        [await manyRecords(500, 13_107), "header of more than 128 records"],
        [await manyRecords(50_000, 128), "more than 3200000 records"],
      ] as const;
      for (const [body, rule] of floods) {
        served.resetPeak();
        const [startedMs, before] = [performance.now(), served.peakBytes];
        const sending = client.put(fixture.path, body, gzip);
        const delays = await latenciesDuring(sending, async () =>
          expect((await fetch(`${served.url}/healthz`)).status).to.equal(200),
        );
        const response = await sending;
        expectErrorResponse(response, 422, "invalid_archive");
        expect(response.json<{ message: string }>().message).to.contain(rule);
        expect(performance.now() - startedMs, response.text).to.be.below(20_000);
        expect((served.peakBytes - before) / 2 ** 20, response.text).to.be.below(200);
        expect(medianOf(delays), `of ${delays.length} others' requests, in ms`).to.be.below(200);
      }
    } finally {
      await served.stop();
    }
  });
});

function flushed(bytes: Buffer): Buffer {
  return deflateRawSync(bytes, { level: 1, finishFlush: constants.Z_FULL_FLUSH });
}

/** The beginning of a gzip stream of such pieces; nobody reads on to its end. */
function gzipOf(...pieces: Buffer[]): Buffer {
  return Buffer.concat([Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]), ...pieces]);
}

const atOnce = 10_000;

/**
 * Pieces of so many entries, made up to ten thousand at a time; in between the API in this process has its
 * turn.
 */
async function piecesOf(count: number, entryOf: (at: number) => Buffer): Promise<Buffer[]> {
  const pieces: Buffer[] = [];
  for (let first = 0; first < count; first += atOnce) {
    pieces.push(
      flushed(
        Buffer.concat(
          Array.from({ length: Math.min(atOnce, count - first) }, (_, at) => entryOf(first + at)),
        ),
      ),
    );
    await setImmediate();
  }
  return pieces;
}

/** So many empty files. What comes after those that an archive may have repeats: nobody gets there. */
async function manyEntries(count: number): Promise<Buffer> {
  const different = limits.archive.entries + atOnce;
  const pieces = await piecesOf(different, (at) => tarEntry({ name: `engine/${at}` }));
  const rest = Array.from({ length: (count - different) / atOnce }, () => pieces.at(-1) ?? Buffer.alloc(0));
  return gzipOf(...pieces, ...rest);
}

/** So many empty directories, each of whose paths takes a kilobyte. */
async function longPaths(count: number): Promise<Buffer> {
  const folder = `${"d".repeat(250)}/`.repeat(3);
  const pathOf = (at: number): string => `${folder}${String(at).padStart(250, "0")}`;
  return gzipOf(
    ...(await piecesOf(count, (at) =>
      Buffer.concat([tarEntry(paxHeader({ path: pathOf(at) })), tarEntry({ name: "cut/" })]),
    )),
  );
}

/** So many empty files, each with an extended header of so many of the shortest records. */
async function manyRecords(count: number, records: number): Promise<Buffer> {
  const header = tarEntry({ name: "x", type: "x", body: "5 a=\n".repeat(records) });
  return gzipOf(
    ...(await piecesOf(count, (at) => Buffer.concat([header, tarEntry({ name: `engine/${at}` })]))),
  );
}
