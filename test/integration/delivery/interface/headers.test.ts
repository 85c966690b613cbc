import { expect } from "chai";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TestApi } from "#test/support/http/api.ts";
import { type ApiClient, type ApiResponse } from "#test/support/http/apiClient.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { wholeInterface } from "#test/support/openapi/interfaceDocument.ts";
import { responsesIn } from "#test/support/http/rawResponses.ts";
import { exchange, RawClient } from "#test/support/http/rawHttp.ts";
import { ownedThings, type Owned } from "#test/support/openapi/interfaceFixture.ts";
import { sampleRequest } from "#test/support/openapi/sampleRequest.ts";

const always = {
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "api-version": "2026-11-29",
  "strict-transport-security": null,
  "x-powered-by": null,
  server: null,
  "access-control-allow-origin": null,
};
const names = Object.keys(always);

describe("response headers", function () {
  this.timeout(60_000);
  let api: TestApi;
  let own: Owned;
  let webRoot: string;

  before(async () => {
    webRoot = mkdtempSync(join(tmpdir(), "joypod-web-"));
    writeFileSync(join(webRoot, "index.html"), "<!doctype html><title>Joypod</title>");
    api = await TestApi.start({
      env: {
        WEB_ROOT: webRoot,
        HEADERS_TIMEOUT_MS: "1000",
        CONNECTION_CHECK_MS: "50",
        MAX_CONNECTIONS: "60",
      },
    });
    own = await ownedThings(api);
  });
  after(async () => {
    await api.stop();
    rmSync(webRoot, { recursive: true });
  });

  for (const route of wholeInterface().routes) {
    it(`of ${route.method} ${route.path} include the common ones, signed in or not`, async () => {
      const { method, path, body, headers } = sampleRequest(route, own.known);
      for (const client of clients()) {
        const response = await client.request(method, path, { body, headers });
        expectSafe(response, route.path);
      }
    });
  }

  it("are the same on error responses, 304 and 500", async () => {
    const player = api.as(own.user);
    const etag = (await player.get("/api/games")).headers.get("etag") ?? "";
    const seen = {
      304: await player.get("/api/games", { "if-none-match": etag }),
      400: await player.get("/api/games?page=x"),
      401: await api.anonymous().get("/api/games"),
      403: await player.post("/api/favorites", {}, { origin: "https://evil.test" }),
      404: await player.get("/api/nothing"),
      405: await player.delete("/api/games"),
      413: await player.post("/api/favorites", { gameId: "x".repeat(70_000) }),
      415: await player.post("/api/favorites", "gameId=x", { "content-type": "text/plain" }),
      500: await broken(() => player.get("/api/games")),
    };
    for (const [status, response] of Object.entries(seen)) {
      expect(response.status, response.text).to.equal(Number(status));
      expectSafe(response, "/api/games");
      if (status !== "304")
        expect(response.headers.get("content-type")).to.equal("application/json; charset=utf-8");
    }
    expect(seen[500].json()).to.have.all.keys("error", "message", "requestId");
    expect(seen[500].text).to.not.match(/at .*:\d+|SELECT|boom|node_modules|\/api\/src/);
    expect(seen[500].json()).to.include({ requestId: seen[500].headers.get("x-request-id") });
  });

  const large = "b".repeat(17_000);
  const unread: [what: string, status: number, code: string, text: string][] = [
    ["what is no HTTP", 400, "invalid_request", "nonsense\r\n\r\n"],
    [
      "two lengths",
      400,
      "invalid_request",
      "POST /api/auth/signout HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
    ["no host", 400, "invalid_request", "GET /api/games HTTP/1.1\r\n\r\n"],
    ["a tunnel", 405, "method_not_allowed", "CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n"],
    ["a head that does not come", 408, "request_timeout", "GET /api/games HTTP/1.1\r\nHost:"],
    [
      "a long head",
      431,
      "headers_too_large",
      `GET /api/games HTTP/1.1\r\nHost: x\r\nX-Long: ${large}\r\n\r\n`,
    ],
    [
      "many headers",
      431,
      "headers_too_large",
      `GET /api/games HTTP/1.1\r\nHost: x\r\n${"X-Short: b\r\n".repeat(1700)}\r\n`,
    ],
    [
      "a long address",
      431,
      "headers_too_large",
      `GET /api/games?search=${large} HTTP/1.1\r\nHost: x\r\n\r\n`,
    ],
    [
      "long cookies of others",
      431,
      "headers_too_large",
      `GET /api/games HTTP/1.1\r\nHost: x\r\nCookie: auth.session-token=a; a=${large}\r\n\r\n`,
    ],
    [
      "a head without an end",
      431,
      "headers_too_large",
      `GET /api/games HTTP/1.1\r\nHost: x\r\nCookie: ${"b".repeat(130_000)}`,
    ],
  ];
  for (const [what, status, code, text] of unread) {
    it(`are the same for input that is not an HTTP request: ${what}`, async () => {
      const received = await exchange(api.url, text);
      const [response] = responsesIn(received, []);
      expect(response, received).to.include({ status, isWhole: true });
      const { headers, text: body } = response!;
      expectSafe({ headers, status, setCookies: headers.getSetCookie() }, what);
      const requestId = headers.get("x-request-id");
      expect(JSON.parse(body)).to.deep.equal({ error: code, requestId });
      expect(headers.get("connection")).to.equal("close");
      expect(Math.abs(Date.parse(headers.get("date") ?? "") - Date.now())).to.be.below(5_000);
      expect(api.logLines.filter((line) => line.includes(requestId ?? "none"))).to.have.length(1);
    });
  }

  const unreadPartners: [what: string, status: number, code: string, text: string][] = [
    [
      "a long head",
      431,
      "headers_too_large",
      `GET /api/partners/games HTTP/1.1\r\nHost: x\r\nX-Long: ${large}\r\n\r\n`,
    ],
    [
      "a long head for a whole address",
      431,
      "headers_too_large",
      `GET http://x/api/partners/games HTTP/1.1\r\nHost: x\r\nX-Long: ${large}\r\n\r\n`,
    ],
    ["no host", 400, "invalid_request", "GET /api/partners/games HTTP/1.1\r\n\r\n"],
  ];
  for (const [what, status, code, text] of unreadPartners) {
    it(`are the same for a partner's request without a route, whose response has a message: ${what}`, async () => {
      const [response] = responsesIn(await exchange(api.url, text), ["GET"]);
      expect(response).to.include({ status, isWhole: true });
      const { headers, text: body } = response!;
      expectSafe({ headers, status, setCookies: headers.getSetCookie() }, what);
      const { message, ...rest } = JSON.parse(body) as Record<string, unknown>;
      expect(rest).to.deep.equal({ error: code });
      expect(message).to.match(/^[A-Z].*\.$/);
      expect(headers.get("x-request-id")).to.be.a("string");
    });
  }

  for (const target of ["http://[::1", "http://", "http://%", "//a@[::1/#x"]) {
    it(`are the same for a request with an invalid target: ${target}`, async () => {
      const received = await exchange(
        api.url,
        `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
      );
      const [response] = responsesIn(received, ["GET"]);
      expect(response, received).to.include({ status: 400, isWhole: true });
      const { headers, text: body } = response!;
      expectSafe({ headers, status: 400, setCookies: headers.getSetCookie() }, target);
      expect(JSON.parse(body)).to.include({
        error: "invalid_request",
        requestId: headers.get("x-request-id"),
      });
    });
  }

  it("are those of the path for a request with an absolute URL", async () => {
    const received = await exchange(
      api.url,
      "GET http://x/api/games HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    );
    expect(responsesIn(received, ["GET"])[0]).to.include({ status: 401 });
  });

  it("are accepted in larger sizes only on the first few connections, and only with a credential", async () => {
    const held = await Promise.all(Array.from({ length: 3 }, () => RawClient.connect(api.url)));
    const head = `GET /api/games HTTP/1.1\r\nHost: x\r\nConnection: close\r\nCookie: auth.session-token=${"b".repeat(100 * 1024)}\r\n\r\n`;
    const crowded = await exchange(api.url, head);
    for (const client of held) client.destroy();
    expect(crowded).to.match(/^HTTP\/1\.1 431 /);
    await eventually(
      async () => expect(await exchange(api.url, head)).to.match(/^HTTP\/1\.1 401 [^]*"unauthorized"/),
      { what: "a place among the first" },
    );
    const { key } = own.partner;
    const partners = await exchange(
      api.url,
      `GET /api/partners/games HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${key.padEnd(100 * 1024, "b")}\r\n\r\n`,
    );
    expect(partners).to.match(/^HTTP\/1\.1 401 [^]*"unauthorized"/);
  });

  it("state the remaining requests of every limit that applies", async () => {
    const { partner: owner, game } = await ownedThings(api);
    const partner = api.asPartner(owner);
    const games = await partner.get("/api/partners/games");
    expect(games.headers.get("ratelimit-policy")).to.equal('"partner";q=100;w=60');
    expect(games.headers.get("ratelimit")).to.match(/^"partner";r=\d+;t=\d+$/);
    const upload = await partner.put(`/api/partners/games/${game.slug}/upload`, new Uint8Array(1), {
      "content-type": "application/gzip",
    });
    expect(upload.headers.get("ratelimit-policy")).to.equal('"partner";q=100;w=60, "upload";q=10;w=3600');
    expect(upload.headers.get("ratelimit")).to.match(/^"partner";r=\d+;t=\d+, "upload";r=\d+;t=\d+$/);
    const launch = await api.as(own.user).post("/api/game/launch", { gameSlug: "no-such-game" });
    expect(launch.headers.get("ratelimit-policy")).to.equal('"launch";q=10;w=60, "launchHourly";q=60;w=3600');
    expect([...launch.headers.keys()].filter((name) => name.startsWith("x-ratelimit"))).to.deep.equal([]);
  });

  it("keep the web page's own security policy", async () => {
    const page = await api.anonymous().get("/games/some-game");
    expect(page.headers.get("content-security-policy"))
      .to.contain("script-src 'self'")
      .and.contain("frame-ancestors 'none'");
    for (const name of ["x-content-type-options", "referrer-policy", "x-frame-options"] as const)
      expect(page.headers.get(name)).to.equal(always[name]);
  });

  it("include HSTS in production", async () => {
    const secure = await TestApi.start({ env: { BASE_URL: "https://joypod.test" } });
    try {
      const hsts = "max-age=31536000; includeSubDomains";
      for (const path of ["/healthz", "/api/games", "/api/nothing", "/api/auth/csrf"]) {
        expect((await secure.anonymous().get(path)).headers.get("strict-transport-security")).to.equal(hsts);
      }
      expect(await exchange(secure.url, "nonsense\r\n\r\n")).to.contain(
        `\r\nStrict-Transport-Security: ${hsts}\r\n`,
      );
    } finally {
      await secure.stop();
    }
  });

  it("never repeat the request's Host and forwarding headers", async () => {
    const forged = {
      "x-forwarded-host": "evil.test",
      "x-forwarded-proto": "https",
      forwarded: "host=evil.test",
      "x-original-url": "/evil",
      host: "evil.test",
    };
    for (const route of wholeInterface().routes) {
      const { method, path, body, headers } = sampleRequest(route, own.known);
      for (const client of clients()) {
        const response = await client.request(method, path, { body, headers: { ...headers, ...forged } });
        expect(`${[...response.headers].join(" ")} ${response.text}`, route.path).to.not.contain("evil");
      }
    }
  });

  function clients(): ApiClient[] {
    return [api.anonymous(), api.as(own.user), api.asPartner(own.partner)];
  }

  /** A fault that nobody foresaw, in the middle of a request. */
  async function broken(work: () => Promise<ApiResponse>): Promise<ApiResponse> {
    const { pool } = api.deps.postgres;
    await pool.query("ALTER TABLE games RENAME TO games_boom");
    const write = process.stderr.write.bind(process.stderr);
    process.stderr.write = () => true; // The fault is logged, as it should be, and is not the run's.
    try {
      return await work();
    } finally {
      process.stderr.write = write;
      await pool.query("ALTER TABLE games_boom RENAME TO games");
    }
  }
});

function expectSafe(
  { headers, setCookies, status }: Pick<ApiResponse, "headers" | "setCookies" | "status">,
  path: string,
): void {
  const isPage = headers.get("content-type")?.startsWith("text/html") === true;
  const seen = Object.fromEntries(names.map((name) => [name, headers.get(name)]));
  if (isPage) {
    expect(seen["content-security-policy"])
      .to.contain("default-src 'none'")
      .and.contain("frame-ancestors 'none'")
      .and.not.contain("unsafe-eval");
    seen["content-security-policy"] = always["content-security-policy"];
  }
  expect(seen, `${path} ${status}`).to.deep.equal(always);
  const cache = headers.get("cache-control") ?? "";
  if (path.startsWith("/api/auth/")) expect(cache).to.contain("no-store");
  if (setCookies.length > 0 || /^\/api\/(?!stream)/.test(path))
    expect(cache, path).to.match(/no-store|private/);
  const type = headers.get("content-type");
  if (type !== null && !/^(application\/sdp|image\/)/.test(type)) expect(type).to.match(/; charset=utf-8$/);
}
