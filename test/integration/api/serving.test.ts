import { expect } from "chai";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pagePaths } from "#contracts/pagePaths.ts";
import { aUser } from "#test/factories/catalog.ts";
import { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse } from "#test/support/http/apiClient.ts";
import { freePort } from "#test/support/processes/childProgram.ts";
import { StatementLog } from "#test/support/stores/statementLog.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/stores/postgres.ts";
import { controlPlaneProgram } from "#test/support/processes/controlPlaneProgram.ts";
import { repositoryRoot } from "#test/support/processes/programs.ts";
import { exchange, RawClient } from "#test/support/http/rawHttp.ts";
import { sharedRedis } from "#test/support/stores/redis.ts";
import { expectDocumented } from "#test/support/metrics/metricsDocument.ts";

describe("serving", () => {
  let api: TestApi;
  let webRoot: string;

  before(async () => {
    webRoot = mkdtempSync(join(tmpdir(), "joypod-web-"));
    mkdirSync(join(webRoot, "assets"));
    writeFileSync(join(webRoot, "index.html"), "<!doctype html><title>Joypod</title>");
    writeFileSync(join(webRoot, "favicon.svg"), "<svg/>");
    writeFileSync(join(webRoot, "assets", "index-Ab3dEf9_.js"), `"use strict";${"//".padEnd(3000, "x")}`);
    writeFileSync(join(tmpdir(), "joypod-outside.txt"), "outside");
    api = await TestApi.start({ env: { WEB_ROOT: webRoot } });
  });
  after(async () => {
    await api.stop();
    rmSync(webRoot, { recursive: true });
    rmSync(join(tmpdir(), "joypod-outside.txt"));
  });

  describe("the web app", () => {
    it("returns the page at the address of each page", async () => {
      const addresses = Object.values(pagePaths).map((path) => path.replaceAll(/:\w+/g, "some-thing"));
      for (const path of [...addresses, "/play/gs-1?x=1", "/Account/", "/games/some-game/"]) {
        const response = await api.anonymous().get(path);
        expect(response.status, path).to.equal(200);
        expect(response.text).to.contain("<title>Joypod</title>");
        expect(response.headers.get("content-type")).to.equal("text/html; charset=utf-8");
        expect(response.headers.get("cache-control")).to.equal("no-cache");
        expect(response.headers.get("content-security-policy"))
          .to.contain("script-src 'self'")
          .and.not.contain("script-src 'self' 'unsafe");
      }
    });

    for (const path of ["/nothing", "/games", "/games/a/b", "/play/", "/wp-admin", "/playtest/closed"]) {
      it(`returns the page with 404 at ${path}, which does not exist`, async () => {
        const response = await api.anonymous().get(path, { "if-none-match": "*" });
        expect(response.status).to.equal(404);
        expect(response.headers.get("content-type")).to.equal("text/html; charset=utf-8");
        expect(response.text).to.contain("<title>Joypod</title>");
      });
    }

    it("lets browsers cache hashed files for a year, and compresses large ones", async () => {
      const script = await api.anonymous().get("/assets/index-Ab3dEf9_.js");
      expect(script.headers.get("cache-control")).to.equal("public, max-age=31536000, immutable");
      expect(script.headers.get("content-type")).to.match(/javascript/);
      expect(script.headers.get("content-encoding")).to.equal("gzip");
      // What takes nothing that there is gets it as it is, which is more use than an error.
      for (const accepted of ["identity", "identity;q=0", "*;q=0", "br, *;q=0", "br, identity;q=0"]) {
        const plain = await api.anonymous().get("/assets/index-Ab3dEf9_.js", { "accept-encoding": accepted });
        expect(plain.status, accepted).to.equal(200);
        expect(plain.headers.get("content-encoding"), accepted).to.equal(null);
        expect(plain.text, accepted).to.equal(script.text);
      }
      const icon = await api.anonymous().get("/favicon.svg");
      expect(icon.headers.get("content-type")).to.match(/^image\/svg\+xml/);
      expect(icon.headers.get("cache-control")).to.equal("no-cache");
      const again = await api.anonymous().get("/favicon.svg", { "if-none-match": icon.headers.get("etag")! });
      expect(again.status).to.equal(304);
      expect((await api.anonymous().request("HEAD", "/")).text).to.equal("");
    });

    for (const path of [
      "/assets/missing-12345678.js",
      "/missing.png",
      "/../joypod-outside.txt",
      "/%2e%2e/joypod-outside.txt",
      "/..%2fjoypod-outside.txt",
      "/healthz/",
      "/READYZ",
      "/metrics",
    ]) {
      it(`returns 404 at ${path}`, async () => {
        const response = await api.anonymous().get(path);
        expect(response.text).to.not.contain("outside");
        expectErrorResponse(response, 404, "not_found");
      });
    }

    it("does not replace the API", async () => {
      for (const path of ["/api", "/api/", "/api/nothing", "/api/games/", "//api/games", "/API/games"]) {
        const response = await api.anonymous().get(path);
        if (path === "/API/games") expect(response.text).to.contain("<title>");
        else expectErrorResponse(response, 404, "not_found");
      }
      expectErrorResponse(await api.anonymous().post("/", {}), 404, "not_found");
    });
  });

  describe("every response", () => {
    it("has the security headers, whatever its status", async () => {
      const player = api.as(await aUser(api.deps));
      const responses = [
        await api.anonymous().get("/api/nothing"),
        await api.anonymous().get("/api/games"),
        await api.anonymous().get("/healthz"),
        await player.get("/api/games"),
        await player.post("/api/favorites", "{", { "content-type": "application/json" }),
        await api.anonymous().request("DELETE", "/api/games"),
      ];
      expect(responses.map(({ status }) => status)).to.deep.equal([404, 401, 200, 200, 400, 405]);
      for (const { headers } of responses) {
        expect(headers.get("content-security-policy")).to.equal("default-src 'none'; frame-ancestors 'none'");
        expect(headers.get("x-content-type-options")).to.equal("nosniff");
        expect(headers.get("referrer-policy")).to.equal("no-referrer");
        expect(headers.get("cross-origin-resource-policy")).to.equal("same-origin");
        expect(headers.get("cache-control")).to.match(/no-store|private/);
        expect(headers.get("x-request-id")).to.match(/^[0-9a-z]{20}$/);
        expect(headers.get("content-type")).to.match(/^application\/json; charset=utf-8$/);
        for (const name of [
          "x-powered-by",
          "server",
          "access-control-allow-origin",
          "strict-transport-security",
        ])
          expect(headers.get(name)).to.be.null;
      }
    });

    it("is 405 with Allow for another method, and 204 for OPTIONS without CORS headers", async () => {
      const wrong = await api.anonymous().request("DELETE", "/api/game/launch");
      expectErrorResponse(wrong, 405, "method_not_allowed");
      expect(wrong.headers.get("allow")).to.equal("POST, OPTIONS");
      const options = await api.anonymous().request("OPTIONS", "/api/games", {
        headers: { origin: "https://evil.test", "access-control-request-method": "GET" },
      });
      expect(options.status).to.equal(204);
      expect(options.headers.get("allow")).to.equal("HEAD, GET, OPTIONS");
      expect([...options.headers.keys()].filter((name) => name.startsWith("access-control"))).to.be.empty;
    });

    it("is sent before the body is requested, unless it depends on the body", async () => {
      const head =
        "POST /api/favorites HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10\r\nExpect: 100-continue\r\n";
      expect(await exchange(api.url, `${head}\r\n`)).to.match(/^HTTP\/1\.1 401 /);
      const player = api.as(await aUser(api.deps));
      await player.get("/api/games");
      const client = await RawClient.connect(api.url);
      client.write(`${head}Cookie: auth.session-token=${player.cookies.get("auth.session-token")}\r\n\r\n`);
      await eventually(() => client.received.startsWith("HTTP/1.1 100 Continue"), {
        what: "the leave to send",
      });
      client.destroy();
    });
  });

  it("is measured as 499 if the client disconnected before it", async () => {
    const player = api.as(await aUser(api.deps));
    await player.get("/api/games");
    const client = await RawClient.connect(api.url);
    const head = `POST /api/favorites HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10\r\nExpect: 100-continue\r\n`;
    client.write(`${head}Cookie: auth.session-token=${player.cookies.get("auth.session-token")}\r\n\r\n`);
    await eventually(() => client.received.startsWith("HTTP/1.1 100 Continue"), {
      what: "the API to wait for the body",
    });
    client.destroy();
    const counted = await eventually(
      async () => {
        const text = await api.deps.metrics.registry.metrics();
        return text
          .split("\n")
          .find(
            (line) =>
              line.startsWith("joypod_http_request_duration_seconds_count") &&
              /status="(404|499)"/.test(line) &&
              line.includes('route="/api/favorites"'),
          );
      },
      { what: "the request to be measured" },
    );
    expect(counted).to.contain('status="499"');
  });

  describe("health", () => {
    it("is ready only while the database responds and the process is not shutting down", async () => {
      expect((await api.anonymous().get("/healthz")).json()).to.deep.equal({ status: "ok" });
      expect((await api.anonymous().get("/readyz?exclude=objectStore")).status).to.equal(200);
      api.deps.lifecycle.isStopping = true;
      expectErrorResponse(await api.anonymous().get("/readyz?exclude=objectStore"), 503, "unavailable");
      expect((await api.anonymous().get("/healthz")).status).to.equal(200);
      api.deps.lifecycle.isStopping = false;
    });

    it("checks the stores once for all requests within a second", async () => {
      const flooded = await TestApi.start({ env: { READY_KEPT_MS: "60000" } });
      const log = new StatementLog(flooded.deps.postgres.pool);
      try {
        const statements = await log.during(async () => {
          const ask = () => flooded.anonymous().get("/readyz?exclude=objectStore");
          for (const responses of [await Promise.all(Array.from({ length: 50 }, ask)), [await ask()]]) {
            for (const { status } of responses) expect(status).to.equal(200);
          }
        });
        expect(statements).to.have.length(1);
      } finally {
        await flooded.stop();
      }
    });

    it("is 503 with Retry-After and no detail while the database is unavailable, and signs nobody out", async () => {
      const unavailable = await TestApi.start({
        env: { DATABASE_URL: `postgres://joypod@127.0.0.1:${await freePort()}/none` },
      });
      try {
        expectErrorResponse(
          await unavailable.anonymous().get("/readyz?exclude=objectStore"),
          503,
          "unavailable",
        );
        const browser = unavailable.anonymous();
        browser.cookies.set(
          "auth.session-token",
          unavailable.deps.tokens.issue({ sub: "a", name: "a", email: "a", sid: "a".repeat(22) }).token,
        );
        const refused = await browser.get("/api/games");
        expectErrorResponse(refused, 503, "unavailable");
        expect(refused.headers.get("retry-after")).to.equal("5");
        expect(refused.text).to.not.match(/ECONN|postgres|127\.0\.0\.1/);
        expect(browser.cookies.has("auth.session-token")).to.be.true;
      } finally {
        await unavailable.stop();
      }
    });

    it("recovers when the database is back", async () => {
      const player = api.as(await aUser(api.deps));
      expect((await player.get("/api/games")).status).to.equal(200);
      await api.database.server.stop("SIGINT");
      try {
        expectErrorResponse(await player.get("/api/games"), 503, "unavailable");
        expectErrorResponse(await player.get("/api/games"), 503, "unavailable");
      } finally {
        await api.database.server.start();
      }
      await eventually(async () => (await player.get("/api/games")).status === 200, {
        what: "the catalogue",
      });
      expect((await api.anonymous().get("/readyz?exclude=objectStore")).status).to.equal(200);
    });
  });

  describe("the process", function () {
    this.timeout(120_000);
    let database: TestDatabase;

    before(async () => {
      database = await createTestDatabase();
    });
    after(() => database.drop());

    it("serves, has its metrics on a separate port, and on SIGTERM ends after its open requests", async () => {
      const [port, metricsPort] = [await freePort(), await freePort()];
      const child = start({
        PORT: String(port),
        METRICS_PORT: String(metricsPort),
        SHUTDOWN_DELAY_SECONDS: "0",
        BASE_URL: `http://127.0.0.1:${port}`,
      });
      const ended = once(child, "exit");
      try {
        await eventually(
          async () => (await fetch(`http://127.0.0.1:${port}/readyz?exclude=objectStore`)).ok,
          { timeoutMs: 60_000, what: "the API to serve" },
        );
        await fetch(`http://127.0.0.1:${port}/api/games`);
        // Its connection to Redis may come after its first request.
        const metrics = await eventually(
          async () => {
            const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
            return text.includes('joypod_store_ready{store="redis"} 1') ? text : undefined;
          },
          { timeoutMs: 30_000, intervalMs: 250, what: "the connection to Redis" },
        );
        expect(metrics).to.contain(
          'joypod_http_request_duration_seconds_count{method="GET",route="/api/games",status="401"} 1',
        );
        expectDocumented(metrics, ["API", "API, operator and node agent"]);
        expect(metrics)
          .to.contain('joypod_leader{program="api"} ')
          .and.contain('joypod_store_ready{store="database"} 1')
          .and.contain('joypod_store_ready{store="objectStore"} 0')
          .and.contain('joypod_uploads_total{kind="game",outcome="failed"} 0');
        expect(metrics).to.contain("joypod_password_queue 0").and.contain("process_cpu_seconds_total");
        expect((await fetch(`http://127.0.0.1:${port}/metrics`)).status).to.equal(404);
        expect((await fetch(`http://127.0.0.1:${metricsPort}/`)).status).to.equal(404);
      } finally {
        child.kill("SIGTERM");
      }
      expect(await ended).to.deep.equal([0, null]);
    });

    it("refuses to start with an unsafe configuration, and names every invalid variable", async () => {
      const child = start({
        SIGNING_KEYS: `a:${Buffer.from("short").toString("base64")}`,
        PASSWORD_PEPPER: "short",
        BASE_URL: "ftp://x",
      });
      let errors = "";
      child.stderr?.on("data", (chunk: Buffer) => (errors += chunk.toString()));
      const [code] = (await once(child, "close")) as [number];
      expect(code).to.equal(1);
      expect(errors)
        .to.contain("SIGNING_KEYS")
        .and.contain("PASSWORD_PEPPER")
        .and.contain("BASE_URL")
        .and.contain("openssl rand");
    });

    function start(env: Record<string, string>): ChildProcess {
      return spawn(process.execPath, [join(repositoryRoot, controlPlaneProgram("api"))], {
        stdio: ["ignore", "ignore", "pipe"],
        env: { ...childEnv, DATABASE_URL: database.url, KUBECONFIG: kubeconfig, ...env },
      });
    }

    let childEnv: Record<string, string>;
    let kubeconfig: string;
    before(async () => {
      kubeconfig = join(webRoot, "kubeconfig");
      writeFileSync(
        kubeconfig,
        JSON.stringify({
          apiVersion: "v1",
          kind: "Config",
          "current-context": "none",
          users: [{ name: "none", user: {} }],
          clusters: [{ name: "none", cluster: { server: "http://127.0.0.1:1" } }],
          contexts: [{ name: "none", context: { cluster: "none", user: "none" } }],
        }),
      );
      childEnv = {
        PATH: process.env.PATH ?? "",
        REDIS_URL: (await sharedRedis()).url,
        S3_ENDPOINT: "http://127.0.0.1:1",
        S3_ACCESS_KEY: "none",
        S3_SECRET_KEY: "none",
        SIGNING_KEYS: "a:AbCdEfGhIjKlMnOpQrStUvWxYz0123456789+/AbCdE=",
        PASSWORD_PEPPER: "pepper of the tests",
        BASE_URL: "http://127.0.0.1",
      };
    });
  });
});
