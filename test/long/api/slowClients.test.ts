import { expect } from "chai";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { aGame, aPartner, aUser } from "#test/factories/catalog.ts";
import { TestApi } from "#test/support/http/api.ts";
import { anArchive, archivedGame } from "#test/support/fixtures/archives.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { medianOf } from "#test/bench/mannWhitney.ts";
import { latenciesDuring } from "#test/support/http/latencies.ts";
import { RawClient } from "#test/support/http/rawHttp.ts";
import { slowHttpTest, unsentBytesAt } from "#test/support/http/slowHttpTest.ts";

const slowClients = 40;
const env = {
  HEADERS_TIMEOUT_MS: "600",
  BODY_TIMEOUT_MS: "600",
  STALLED_ANSWER_MS: "600",
  CONNECTION_CHECK_MS: "100",
  CATALOG_REQUESTS_PER_MINUTE: "1000000",
  UPLOAD_IDLE_MS: "2000",
  UPLOAD_WINDOW_MS: "1000",
  UPLOAD_MIN_BYTES_PER_SECOND: "1000",
};

describe("slow clients", function () {
  this.timeout(60_000);
  let api: TestApi;
  let webRoot: string;
  let cookie: string;

  before(async () => {
    webRoot = mkdtempSync(join(tmpdir(), "joypod-web-"));
    writeFileSync(join(webRoot, "index.html"), "<!doctype html>");
    // Far more than both ends of a connection keep for a reader that does not read.
    writeFileSync(join(webRoot, "large.bin"), Buffer.alloc(64 * 2 ** 20));
    api = await TestApi.start({ minio: true, env: { ...env, WEB_ROOT: webRoot } });
    const player = api.as(await aUser(api.deps));
    await player.get("/api/games");
    cookie = `auth.session-token=${player.cookies.get("auth.session-token")}`;
  });
  after(async () => {
    await api.stop();
    rmSync(webRoot, { recursive: true });
  });

  /**
   * While others are slow, good clients must not notice: middling and bad moments are told apart, for the
   * machine has its own.
   */
  async function goodClientsDuring(bad: Promise<unknown>): Promise<void> {
    const player = api.as(await aUser(api.deps));
    const milliseconds = await latenciesDuring(
      bad,
      async () => expect((await player.get("/api/games")).status).to.equal(200),
      100,
    );
    const sorted = milliseconds.toSorted((left, right) => left - right);
    expect(medianOf(sorted), "median").to.be.below(200);
    expect(sorted[Math.floor(sorted.length * 0.95)], "95 of 100").to.be.below(1_000);
  }

  /** Many bad clients at once, and meanwhile good ones. */
  async function besideGoodClients(bad: (client: RawClient) => Promise<unknown>): Promise<string[]> {
    const clients = await Promise.all(Array.from({ length: slowClients }, () => RawClient.connect(api.url)));
    const startedMs = performance.now();
    const response = Promise.all(
      clients.map(async (client) => {
        await bad(client);
        return client.untilClosed();
      }),
    );
    const lastedMs = response.then(() => performance.now() - startedMs);
    await goodClientsDuring(response);
    expect(await lastedMs, "the time of the bad ones").to.be.below(5_000);
    return response;
  }

  it("are disconnected while sending headers byte by byte", async () => {
    const responses = await besideGoodClients((client) =>
      client.trickle("GET /healthz HTTP/1.1\r\nHost: x\r\nX-Filler: ".padEnd(500, "a"), 50),
    );
    for (const response of responses)
      expect(response).to.match(/^HTTP\/1\.1 408 [^]*Connection: close[^]*"request_timeout"/);
  });

  it("are disconnected while sending nothing", async () => {
    await besideGoodClients(() => Promise.resolve());
  });

  it("are disconnected while sending a body byte by byte", async () => {
    const head = `POST /api/favorites HTTP/1.1\r\nHost: x\r\nCookie: ${cookie}\r\nContent-Type: application/json\r\nContent-Length: 400\r\n\r\n`;
    const responses = await besideGoodClients((client) =>
      client.trickle([head, ...Array<string>(300).fill(" ")], 50),
    );
    for (const response of responses)
      expect(response).to.match(/^HTTP\/1\.1 408 [^]*Connection: close[^]*"request_timeout"/);
  });

  it("are disconnected while sending a body that is not read", async () => {
    const head = `GET /api/games HTTP/1.1\r\nHost: x\r\nCookie: ${cookie}\r\nContent-Type: application/json\r\nContent-Length: 400\r\n\r\n`;
    const responses = await besideGoodClients((client) =>
      client.trickle([head, ...Array<string>(300).fill("x")], 50),
    );
    for (const response of responses) expect(response).to.match(/^HTTP\/1\.1 200 [^]*Connection: close/i);
  });

  it("are disconnected while not reading the response", async () => {
    const client = await RawClient.connect(api.url);
    client.pause();
    client.write("GET /large.bin HTTP/1.1\r\nHost: x\r\n\r\n");
    const cut = (): boolean =>
      api.logLines.some((line) => line.includes('"isCut":true') && line.includes('"route":"web"'));
    await eventually(cut, { what: "the cut", timeoutMs: 20_000 });
    client.destroy();
  });

  it("of every kind of slowhttptest are disconnected, and leave no connection behind", async () => {
    const port = Number(new URL(api.url).port);
    const cuts = (): number =>
      api.logLines.filter((line) => line.includes('"isCut":true') && line.includes('"route":"web"')).length;
    const before = cuts();
    const some = { connections: 50, cookie };
    const headers = slowHttpTest({ mode: "headers", url: `${api.url}/`, seconds: 20, ...some });
    const body = slowHttpTest({ mode: "body", url: `${api.url}/api/favorites`, seconds: 20, ...some });
    // This one does not notice that it was cut off, for it takes its time with what it was sent before: so it
    // is looked at from here.
    const progress = { isReading: true };
    const seen = new AbortController();
    const read = slowHttpTest({
      mode: "read",
      url: `${api.url}/large.bin`,
      seconds: 30,
      signal: seen.signal,
      ...some,
    }).finally(() => (progress.isReading = false));
    const wholeTest = Promise.all([headers, body, read]);
    // Good clients' answers are on their way at any moment; each slow reader was sent megabytes.
    const cut = eventually(() => cuts() >= before + some.connections && unsentBytesAt(port) < 64 * 1024, {
      what: "the end of those who do not read",
      timeoutMs: 25_000,
    })
      .then(() => expect(progress.isReading, "cut before they went by themselves").to.be.true)
      .finally(() => seen.abort());
    await Promise.all([goodClientsDuring(wholeTest), cut]);
    expect((await wholeTest).slice(0, 2)).to.deep.equal([
      "No open connections left",
      "No open connections left",
    ]);
  });

  describe("of an upload", () => {
    async function begin(length: number): Promise<RawClient> {
      const owner = await aPartner(api.deps);
      const { slug } = await aGame(api.deps, {
        partnerId: owner.id,
        status: "pending_upload",
        ...archivedGame,
      });
      const client = await RawClient.connect(api.url);
      client.write(
        `PUT /api/partners/games/${slug}/upload HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${owner.key}\r\nContent-Type: application/gzip\r\nContent-Length: ${length}\r\nConnection: close\r\n\r\n`,
      );
      return client;
    }

    it("may take far longer than other bodies at the minimum rate", async () => {
      const archive = await anArchive({
        header: { name: "engine/more.bin", size: 40_000 },
        body: randomBytes(40_000),
      });
      const client = await begin(archive.length);
      const pieces = 12;
      const size = Math.ceil(archive.length / pieces);
      const startedMs = performance.now();
      await client.trickle(
        Array.from({ length: pieces }, (_, index) => archive.subarray(index * size, (index + 1) * size)),
        250,
      );
      expect(await client.untilClosed()).to.match(/^HTTP\/1\.1 200 /);
      expect(performance.now() - startedMs).to.be.above(4 * Number(env.BODY_TIMEOUT_MS));
    });

    it("are disconnected below the minimum rate", async () => {
      const [dripping, silent] = [await begin(1_000_000), await begin(1_000_000)];
      await dripping.trickle(Buffer.alloc(60, 0x1f).toString("latin1"), 100);
      for (const client of [dripping, silent])
        expect(await client.untilClosed()).to.match(/^HTTP\/1\.1 (?:408|422) [^]*Connection: close/i);
    });
  });
});
