import { expect } from "chai";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { sweepUploads } from "#api/games/upload/uploadLease.ts";
import { connectObjectStore } from "#api/stores/objectStore.ts";
import { aUser } from "#test/factories/catalog.ts";
import { TestApi } from "#test/support/http/api.ts";
import { ApiProcess } from "#test/support/http/apiProcess.ts";
import { freePort } from "#test/support/processes/childProgram.ts";
import { expectErrorResponse, type ApiClient, type ApiResponse } from "#test/support/http/apiClient.ts";
import { anArchive } from "#test/support/fixtures/archives.ts";
import { postSignIn } from "#test/support/http/authForms.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { sendTraffic } from "#test/support/http/traffic.ts";
import { UploadFixture } from "#test/support/fixtures/uploadFixture.ts";
import { freezeDatabase } from "#test/support/stores/postgres.ts";

/** Words of ours or of a library that tell more than a caller may know. */
const insides = /ECONN|postgres|127\.0\.0\.1|node_modules|\.ts|SELECT|UPDATE|prisma|minio|stack|at async/i;

function expectUnavailable(response: ApiResponse): void {
  expectErrorResponse(response, 503, "unavailable");
  expect(Number(response.headers.get("retry-after"))).to.be.at.least(1);
  expect(response.text).to.not.match(insides);
}

const databaseTimeoutMs = 500;
/** How long the API waits for a server that does not end a statement itself. */
const queryTimeoutMs = 1.2 * databaseTimeoutMs;

describe("when the database", function () {
  this.timeout(60_000);
  let api: TestApi;
  let player: ApiClient;
  let user: { email: string; password: string };

  before(async () => {
    api = await TestApi.start({
      env: { DATABASE_TIMEOUT_MS: String(databaseTimeoutMs), CATALOG_REQUESTS_PER_MINUTE: "1000000" },
    });
    const signedIn = await aUser(api.deps);
    user = signedIn;
    player = api.as(signedIn);
    expect((await player.get("/api/games")).status).to.equal(200);
  });
  after(() => api.stop());

  async function expectOutage(): Promise<void> {
    const { statuses, responses, p99Ms } = await sendTraffic(30, () => player.get("/api/games"));
    expect(statuses).to.deep.equal({ 503: 30 });
    for (const response of responses) expectUnavailable(response);
    expect(p99Ms).to.be.below(3_000);
    expectUnavailable(await player.post("/api/game/keepalive", { sessionId: "gs-0000000000000000000a" }));
    const signIn = await postSignIn(api.anonymous(), user);
    expectErrorResponse(signIn, 503, "unavailable");
    // Without an address of ours the Auth.js client would break off instead of telling the player.
    const { url, ...told } = signIn.json<{ url: string }>();
    expect(new URL(url).origin).to.equal(api.url);
    expect(new URL(url).searchParams.get("error")).to.equal("CredentialsSignin");
    expect(JSON.stringify(told)).to.not.match(insides);
    expectUnavailable(await api.anonymous().get("/readyz?exclude=objectStore"));
    expect((await api.anonymous().get("/healthz")).status).to.equal(200);
    expect(player.cookies.has("auth.session-token")).to.equal(true);
  }

  async function expectRecovery(): Promise<void> {
    await eventually(async () => (await player.get("/api/games")).status === 200, {
      what: "the catalogue",
      timeoutMs: 5_000,
    });
    expect((await api.anonymous().get("/readyz?exclude=objectStore")).status).to.equal(200);
    expect((await postSignIn(api.anonymous(), user)).status).to.equal(200);
    expect(api.logLines.filter((line) => line.includes('"level":"error"') && !line.includes("audit"))).to.be
      .empty;
  }

  it("stops, every request that needs it immediately gets 503, and all succeed once it is back", async () => {
    // The server of the tests writes late: what was stored before must outlive the crash.
    await api.deps.postgres.pool.query("CHECKPOINT");
    const stopped = new AbortController();
    const statuses = new Set<string>();
    const sendSome = async (): Promise<void> =>
      Object.keys((await sendTraffic(20, () => player.get("/api/games"))).statuses).forEach((status) =>
        statuses.add(status),
      );
    await sendSome();
    const during = (async () => {
      while (!stopped.signal.aborted) await sendSome();
    })();
    await api.database.server.stop("SIGQUIT");
    try {
      stopped.abort();
      await during;
      await sendSome();
      expect([...statuses]).to.have.members(["200", "503"]);
      await expectOutage();
    } finally {
      await api.database.server.start();
    }
    await expectRecovery();
  });

  it("stops, the replicas still receive requests, and report that it is unavailable", async () => {
    const metricsPort = await freePort();
    const replica = await ApiProcess.beside(api, {
      METRICS_PORT: String(metricsPort),
      DATABASE_TIMEOUT_MS: "500",
      CATALOG_REQUESTS_PER_MINUTE: "1000000",
    });
    try {
      const probe = async (): Promise<number> =>
        (await fetch(`http://127.0.0.1:${metricsPort}/readyz`)).status;
      expect(await probe()).to.equal(200);
      const visitor = api.anonymous(replica);
      for (const [name, value] of player.cookies) visitor.cookies.set(name, value);
      expect((await visitor.get("/api/games")).status).to.equal(200);
      await api.deps.postgres.pool.query("CHECKPOINT");
      await api.database.server.stop("SIGQUIT");
      try {
        expectUnavailable(await visitor.get("/api/games"));
        // The process has looked by itself, and tells that for a moment.
        const unready = await eventually(
          async () => {
            const response = await visitor.get("/readyz?exclude=objectStore");
            return response.status === 200 ? undefined : response;
          },
          { what: "the readiness to be looked at again" },
        );
        expectUnavailable(unready);
        expect(await probe(), "the kubelet's question").to.equal(200);
      } finally {
        await api.database.server.start();
      }
      await eventually(async () => (await visitor.get("/api/games")).status === 200, {
        what: "the replica to go on",
      });
    } finally {
      await replica.stop();
    }
    await expectRecovery();
  });

  it("hangs, requests fail within a bounded time, and all succeed once it resumes", async () => {
    const release = freezeDatabase(api.database);
    try {
      await expectOutage();
    } finally {
      release();
    }
    await expectRecovery();
  });

  it("hangs within a transaction, no client waits a second timeout for the rollback", async () => {
    let [release, failedAt] = [(): void => undefined, Infinity];
    const transaction = api.deps.postgres.transaction(async (client) => {
      release = freezeDatabase(api.database);
      await client.query("SELECT 1").finally(() => (failedAt = performance.now()));
    });
    const outcome = await transaction.then(
      () => "committed",
      (error: unknown) => error,
    );
    release();
    expect(outcome).to.be.an("error").with.property("message", "Query read timeout");
    expect(performance.now() - failedAt, "milliseconds after the statement failed").to.be.below(
      queryTimeoutMs,
    );
    await expectRecovery();
  });
});

describe("when the object store", function () {
  this.timeout(60_000);
  let fixture: UploadFixture;

  before(async () => {
    fixture = await UploadFixture.start({ S3_TIMEOUT_MS: "500" });
  });
  beforeEach(() => fixture.newGame());
  after(() => fixture.stop());

  /** Uploads fail, and nothing else does. */
  async function expectOutage(): Promise<void> {
    const archive = await anArchive();
    for (const response of await Promise.all([
      fixture.upload(archive),
      fixture.api.anonymous().get("/readyz"),
    ]))
      expectUnavailable(response);
    expect((await fixture.api.anonymous().get("/readyz?exclude=objectStore")).status).to.equal(200);
    for (const path of ["", `/${fixture.game.slug}`, `/${fixture.game.slug}/sync`])
      expect((await fixture.client.get(`/api/partners/games${path}`)).status).to.equal(200);
    expect((await fixture.api.as(await aUser(fixture.api.deps)).get("/api/games")).status).to.equal(200);
  }

  it("is unavailable, uploads get 503 and change nothing, readiness reports it, and all succeed once it is back", async () => {
    expect((await fixture.api.anonymous().get("/readyz")).status).to.equal(200);
    await fixture.minio.stop();
    try {
      await expectOutage();
      expect(await fixture.stateOf()).to.include({ status: "pending_upload", currentVersionId: null });
    } finally {
      await fixture.minio.start();
    }
    expect((await fixture.api.anonymous().get("/readyz")).status).to.equal(200);
    await fixture.uploaded(await anArchive());
  });

  it("hangs, including during an upload, requests fail within a bounded time, and all succeed once it resumes", async () => {
    const { api, minio } = fixture;
    await fixture.uploaded(await anArchive());
    const before = await fixture.stateOf();
    const { large, request, response, rest } = await fixture.beginLargeUpload();
    minio.freeze();
    try {
      request.end(rest);
      expect(await response).to.equal(503);
      await expectOutage();
      await makeSweepable();
      await sweepUploads(api.deps);
      expect(
        await api.deps.postgres.prisma.gameUpload.count({ where: { gameId: fixture.game.id } }),
        "the sweeper tries again",
      ).to.be.above(0);
    } finally {
      await minio.resume();
    }
    expect((await api.anonymous().get("/readyz")).status).to.equal(200);
    expect(await fixture.stateOf()).to.deep.equal(before);
    await makeSweepable();
    await sweepUploads(api.deps);
    expect(await fixture.unfinishedUploads()).to.be.empty;
    await fixture.uploaded(large);
  });

  async function makeSweepable(): Promise<void> {
    await fixture.api.deps.postgres.prisma.gameUpload.updateMany({
      where: { gameId: fixture.game.id },
      data: { renewedAt: new Date(Date.now() - 61_000) },
    });
  }

  it("never responds, requests to it time out and free their resources", async () => {
    const silent = createServer();
    silent.listen(0, "127.0.0.1");
    await once(silent, "listening");
    const endpoint = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const { client } = connectObjectStore({
      endpoint,
      region: "us-east-1",
      bucket: "none",
      accessKey: "none",
      secretKey: "none",
      timeoutMs: 20,
    });
    try {
      expect(
        await client.bucketExists("none").then(
          () => undefined,
          (error: unknown) => error,
        ),
      ).to.have.property("message", "The object store does not respond.");
    } finally {
      silent.close();
    }
  });
});
