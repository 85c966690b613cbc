import { expect } from "chai";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { aGame, aPartner, aUser } from "../../factories/catalog.ts";
import { TestApi } from "../../support/api.ts";
import { anArchive, archivedGame } from "../../support/archives.ts";
import { eventually } from "../../support/eventually.ts";
import { RawClient } from "../../support/rawHttp.ts";
import { sendTraffic } from "../../support/traffic.ts";

const slowClients = 40;
const env = {
  HEADERS_TIMEOUT_MS: "600", BODY_TIMEOUT_MS: "600", STALLED_ANSWER_MS: "600", CONNECTION_CHECK_MS: "100", CATALOG_REQUESTS_PER_MINUTE: "1000000",
  UPLOAD_IDLE_MS: "2000", UPLOAD_WINDOW_MS: "1000", UPLOAD_MIN_BYTES_PER_SECOND: "1000",
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

  /** Many bad clients at once, and meanwhile good ones that must not notice. */
  async function besideGoodClients(bad: (client: RawClient) => Promise<unknown>): Promise<string[]> {
    const player = api.as(await aUser(api.deps));
    const clients = await Promise.all(Array.from({ length: slowClients }, () => RawClient.connect(api.url)));
    const startedMs = performance.now();
    const work = Promise.all(clients.map(bad));
    const { statuses, p99Ms } = await sendTraffic(100, () => player.get("/api/games"));
    expect(statuses).to.deep.equal({ 200: 100 });
    expect(p99Ms).to.be.below(1_000);
    await work;
    const answers = await Promise.all(clients.map((client) => client.untilClosed()));
    expect(performance.now() - startedMs).to.be.below(5_000);
    return answers;
  }

  it("are cut while they send headers, a byte at a time", async () => {
    const answers = await besideGoodClients((client) => client.trickle("GET /healthz HTTP/1.1\r\nHost: x\r\nX-Filler: ".padEnd(500, "a"), 50));
    for (const answer of answers) expect(answer).to.match(/^HTTP\/1\.1 408 [^]*Connection: close[^]*"request_timeout"/);
  });

  it("are cut while they say nothing at all", async () => {
    await besideGoodClients(() => Promise.resolve());
  });

  it("are cut while they send a body, a byte at a time", async () => {
    const head = `POST /api/favorites HTTP/1.1\r\nHost: x\r\nCookie: ${cookie}\r\nContent-Type: application/json\r\nContent-Length: 400\r\n\r\n`;
    const answers = await besideGoodClients((client) => client.trickle([head, ...Array<string>(300).fill(" ")], 50));
    for (const answer of answers) expect(answer).to.match(/^HTTP\/1\.1 408 [^]*Connection: close[^]*"request_timeout"/);
  });

  it("are cut while they send a body that nobody reads", async () => {
    const head = `GET /api/games HTTP/1.1\r\nHost: x\r\nCookie: ${cookie}\r\nContent-Type: application/json\r\nContent-Length: 400\r\n\r\n`;
    const answers = await besideGoodClients((client) => client.trickle([head, ...Array<string>(300).fill("x")], 50));
    for (const answer of answers) expect(answer).to.match(/^HTTP\/1\.1 200 [^]*Connection: close/i);
  });

  it("are cut while they do not read what they asked for", async () => {
    const client = await RawClient.connect(api.url);
    client.pause();
    client.write("GET /large.bin HTTP/1.1\r\nHost: x\r\n\r\n");
    const cut = (): boolean => api.logLines.some((line) => line.includes('"isCut":true') && line.includes('"route":"web"'));
    await eventually(cut, { what: "the cut", timeoutMs: 5_000 });
    client.destroy();
  });

  describe("of an upload", () => {
    async function begin(length: number): Promise<RawClient> {
      const owner = await aPartner(api.deps);
      const { slug } = await aGame(api.deps, { partnerId: owner.id, status: "pending_upload", ...archivedGame });
      const client = await RawClient.connect(api.url);
      client.write(`PUT /api/partners/games/${slug}/upload HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${owner.key}\r\nContent-Type: application/gzip\r\nContent-Length: ${length}\r\nConnection: close\r\n\r\n`);
      return client;
    }

    it("may take far longer than any other body, at a low but honest rate", async () => {
      const archive = await anArchive({ header: { name: "engine/more.bin", size: 40_000 }, body: randomBytes(40_000) });
      const client = await begin(archive.length);
      const pieces = 12;
      const size = Math.ceil(archive.length / pieces);
      const startedMs = performance.now();
      await client.trickle(Array.from({ length: pieces }, (_, index) => archive.subarray(index * size, (index + 1) * size)), 250);
      expect(await client.untilClosed()).to.match(/^HTTP\/1\.1 200 /);
      expect(performance.now() - startedMs).to.be.above(4 * Number(env.BODY_TIMEOUT_MS));
    });

    it("are cut when they send next to nothing, or nothing", async () => {
      const [dripping, silent] = [await begin(1_000_000), await begin(1_000_000)];
      await dripping.trickle(Buffer.alloc(60, 0x1f).toString("latin1"), 100);
      for (const client of [dripping, silent]) expect(await client.untilClosed()).to.match(/^HTTP\/1\.1 (?:408|422) [^]*Connection: close/i);
    });
  });
});
