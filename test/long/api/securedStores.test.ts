import { expect } from "chai";
import { spawn } from "node:child_process";
import { createObjectStore } from "#node-agent/objectStore/objectStore.ts";
import { readConfig as readAgentConfig } from "#node-agent/config.ts";
import { objectStoreSentence } from "#s3/objectStoreFailure.ts";
import { aUser } from "#test/factories/catalog.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { TestApi } from "#test/support/http/api.ts";
import { ApiProcess } from "#test/support/http/apiProcess.ts";
import { CertificateAuthority } from "#test/support/http/certificates.ts";
import { freePort } from "#test/support/processes/childProgram.ts";
import { joypodProgram } from "#test/support/processes/controlPlaneProgram.ts";
import { startMinio, type TestMinio } from "#test/support/stores/minio.ts";
import {
  createTestDatabase,
  startTlsPostgres,
  type TestDatabase,
  type TestServer,
} from "#test/support/stores/postgres.ts";
import { sharedRedis, startRedis, type TestRedis } from "#test/support/stores/redis.ts";

/** What no sentence may hold, and no log line either. */
const secrets = /canary|s3cret/;

interface Readiness {
  status: number;
  /** Why it is not ready, or what it warns of. */
  words: string;
}

describe("stores behind TLS", function () {
  this.timeout(120_000);
  let authority: CertificateAuthority;
  let stranger: CertificateAuthority;

  before(async () => {
    [authority, stranger] = await Promise.all([CertificateAuthority.create(), CertificateAuthority.create()]);
  });

  /** Starts an API with these variables, and returns what `/readyz` says, also what the log says of it. */
  async function readinessOf(
    env: Record<string, string>,
    path = "/readyz?exclude=objectStore",
  ): Promise<Readiness> {
    const database = await createTestDatabase();
    const api = await TestApi.start({ database, env, awaitsRedis: false });
    try {
      // Redis' connection is not asked for: it comes, or fails, by itself.
      await eventually(
        () =>
          api.deps.redis.status === "ready" ||
          api.logLines.some((line) => line.includes("Redis is unavailable")),
        { what: "the connection to Redis, or its failure" },
      );
      const response = await api.anonymous().get(path);
      const { message = "", warnings = [] } = response.json<{ message?: string; warnings?: string[] }>();
      const words = [message, ...warnings].filter((text) => text !== "").join(" ");
      if (words !== "")
        expect(
          api.logLines.some((line) => line.includes(JSON.stringify(words).slice(1, -1))),
          `in the log: ${words}`,
        ).to.equal(true);
      expect(response.text + api.logLines.join("\n")).to.not.match(secrets);
      return { status: response.status, words };
    } finally {
      await api.stop();
      await database.drop();
    }
  }

  /** What the chart's Job runs. */
  function migrate(env: Record<string, string>): Promise<{ code: number | null; output: string }> {
    const [program = "", ...first] = joypodProgram();
    const child = spawn(program, [...first, "migrate", "--wait-seconds", "120"], {
      env: { PATH: process.env.PATH, ...env },
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (text: Buffer) => (output += text.toString()));
    return new Promise((resolve, reject) =>
      child.once("error", reject).once("close", (code) => resolve({ code, output })),
    );
  }

  describe("Postgres", () => {
    let server: TestServer;
    let url: URL;

    before(async () => {
      server = await startTlsPostgres(await authority.server("database", ["DNS:localhost"]));
      url = new URL(server.urlOf("postgres"));
      url.hostname = "localhost";
    });
    after(() => server.program.stop());

    const at = (change: (address: URL) => void): string => {
      const address = new URL(url);
      change(address);
      return address.href;
    };

    it("accepts migrations, commands and requests with its CA certificate, all of them encrypted", async () => {
      const env = { DATABASE_URL: url.href, DATABASE_CA_FILE: authority.certificateFile };
      const migrated = await migrate(env);
      expect(migrated, migrated.output).to.include({ code: 0 });
      const database: TestDatabase = { url: url.href, server: server.program, drop: () => Promise.resolve() };
      const api = await TestApi.start({ database, env });
      try {
        expect((await api.anonymous().get("/readyz?exclude=objectStore")).json()).to.deep.equal({
          status: "ok",
        });
        expect((await api.as(await aUser(api.deps)).get("/api/games")).status).to.equal(200);
        const { rows } = await api.deps.postgres.pool.query<{ ssl: boolean; count: number }>(
          "SELECT ssl, count(*)::int FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'joypod' GROUP BY ssl",
        );
        expect(rows.map(({ ssl }) => ssl)).to.deep.equal([true]);
      } finally {
        await api.stop();
      }
    });

    for (const [title, settings, sentence] of [
      [
        "another authority",
        () => ({ DATABASE_URL: url.href, DATABASE_CA_FILE: stranger.certificateFile }),
        /^The database has a certificate from an untrusted authority\. .* DATABASE_CA_FILE/,
      ],
      [
        "no authority",
        () => ({ DATABASE_URL: at((address) => address.searchParams.set("sslmode", "verify-full")) }),
        /^The database has a certificate from an untrusted authority\. .* DATABASE_CA_FILE/,
      ],
      [
        "a host name that the certificate does not bear",
        () => ({
          DATABASE_URL: at((address) => (address.hostname = "127.0.0.1")),
          DATABASE_CA_FILE: authority.certificateFile,
        }),
        /^The database has a certificate for another host name than the one in DATABASE_URL/,
      ],
      [
        "a database that is not there",
        () => ({
          DATABASE_URL: at((address) => (address.pathname = "/none")),
          DATABASE_CA_FILE: authority.certificateFile,
        }),
        /^The database that DATABASE_URL names does not exist/,
      ],
    ] as const) {
      it(`is rejected with ${title} by readiness, log and migration, with a specific message`, async () => {
        const env: Record<string, string> = settings();
        const [readiness, migrated] = await Promise.all([readinessOf(env), migrate(env)]);
        expect(readiness).to.include({ status: 503 });
        expect(readiness.words).to.match(sentence);
        expect(migrated.code).to.equal(1);
        expect(migrated.output).to.match(sentence);
      });
    }

    it("is rejected without TLS with a specific message, and never used without TLS", async () => {
      const plain = await createTestDatabase();
      const env = { DATABASE_URL: plain.url, DATABASE_CA_FILE: authority.certificateFile };
      const [readiness, migrated] = await Promise.all([readinessOf(env), migrate(env)]);
      for (const words of [readiness.words, migrated.output])
        expect(words).to.match(
          /^The database does not use TLS on this port, but DATABASE_URL or DATABASE_CA_FILE/,
        );
      await plain.drop();
    });
  });

  describe("Redis", () => {
    let redis: TestRedis;
    const password = "s3cret-of-redis";
    const withPassword = (base: string, words: string): string =>
      base.replace("rediss://127.0.0.1", `rediss://:${words}@localhost`);

    before(async () => {
      redis = await startRedis({ pair: await authority.server("redis", ["DNS:localhost"]), password });
    });
    after(() => redis.server.stop());

    it("accepts the API with the password and its CA certificate", async () => {
      const env = { REDIS_URL: withPassword(redis.url, password), REDIS_CA_FILE: authority.certificateFile };
      expect(await readinessOf(env)).to.deep.equal({ status: 200, words: "" });
    });

    for (const [title, settings, sentence] of [
      [
        "another authority",
        () => ({ REDIS_URL: withPassword(redis.url, password), REDIS_CA_FILE: stranger.certificateFile }),
        /^Redis has a certificate from an untrusted authority\. .* REDIS_CA_FILE/,
      ],
      [
        "a host name that the certificate does not bear",
        () => ({
          REDIS_URL: withPassword(redis.url, password).replace("localhost", "127.0.0.1"),
          REDIS_CA_FILE: authority.certificateFile,
        }),
        /^Redis has a certificate for another host name than the one in REDIS_URL/,
      ],
      [
        "a wrong password",
        () => ({ REDIS_URL: withPassword(redis.url, "canary"), REDIS_CA_FILE: authority.certificateFile }),
        /^Redis refuses the user or the password in REDIS_URL/,
      ],
      [
        "no password",
        () => ({
          REDIS_URL: redis.url.replace("127.0.0.1", "localhost"),
          REDIS_CA_FILE: authority.certificateFile,
        }),
        /^Redis requires a password/,
      ],
      [
        "no TLS",
        () => ({ REDIS_URL: withPassword(redis.url, password).replace("rediss:", "redis:") }),
        /^Redis closes the connection immediately: if it requires TLS/,
      ],
    ] as const) {
      it(`is not used with ${title}, with a specific warning`, async () => {
        const { status, words } = await readinessOf(settings());
        expect(status).to.equal(200);
        expect(words).to.match(sentence);
      });
    }

    it("is not used without TLS, with a warning", async () => {
      const { words } = await readinessOf({
        REDIS_URL: (await sharedRedis()).url.replace("redis:", "rediss:"),
        REDIS_CA_FILE: authority.certificateFile,
      });
      expect(words).to.match(/^Redis does not respond with TLS/);
    });
  });

  describe("the object store", () => {
    let minio: TestMinio;

    before(async () => {
      minio = await startMinio({
        tls: {
          pair: await authority.server("minio", ["IP:127.0.0.1"]),
          authorityFile: authority.certificateFile,
        },
        env: { MINIO_SITE_REGION: "eu-test-1" },
      });
    });
    after(() => minio.remove());

    const right = (): Record<string, string> => ({
      S3_ENDPOINT: minio.endpoint,
      S3_REGION: minio.region,
      S3_BUCKET: minio.bucket,
      S3_ACCESS_KEY: minio.accessKey,
      S3_SECRET_KEY: minio.secretKey,
      S3_CA_FILE: authority.certificateFile,
    });

    /** What a node agent with the same variables says; undefined where it reaches the bucket. */
    async function agentSentence(env: Record<string, string>): Promise<string | undefined> {
      const { objectStore } = readAgentConfig({ ...env, NODE_NAME: "node-a" });
      const store = createObjectStore(objectStore);
      try {
        return await store.probe(objectStore.bucket, AbortSignal.timeout(10_000)).then(
          () => undefined,
          (error: unknown) => objectStoreSentence(error) ?? String(error),
        );
      } finally {
        store.close();
      }
    }

    it("accepts API and agents with its CA certificate", async () => {
      expect(await readinessOf(right(), "/readyz")).to.deep.equal({ status: 200, words: "" });
      expect(await agentSentence(right())).to.equal(undefined);
    });

    for (const [title, change, sentence] of [
      [
        "a missing bucket",
        () => ({ S3_BUCKET: "canary-bucket" }),
        /^The object store has no bucket with the name in S3_BUCKET\. Create it/,
      ],
      [
        "a wrong access key",
        () => ({ S3_ACCESS_KEY: "canary" }),
        /^The object store does not know the access key in S3_ACCESS_KEY/,
      ],
      [
        "a wrong secret key",
        () => ({ S3_SECRET_KEY: "canary" }),
        /^The object store rejects the secret key in S3_SECRET_KEY/,
      ],
      [
        "another region",
        () => ({ S3_REGION: "eu-test-2" }),
        /^The bucket in S3_BUCKET is in another region than S3_REGION/,
      ],
      [
        "another authority",
        () => ({ S3_CA_FILE: stranger.certificateFile }),
        /^The object store has a certificate from an untrusted authority\. .* S3_CA_FILE/,
      ],
      [
        "a host name that the certificate does not bear",
        () => ({ S3_ENDPOINT: minio.endpoint.replace("127.0.0.1", "localhost") }),
        /^The object store has a certificate for another host name than the one in S3_ENDPOINT/,
      ],
      [
        "an address without TLS",
        () => ({ S3_ENDPOINT: minio.endpoint.replace("https:", "http:"), S3_CA_FILE: "" }),
        /^The server at S3_ENDPOINT is not an object store\. .* https:/,
      ],
    ] as const) {
      it(`is rejected with ${title} by API and agents, with a specific message`, async () => {
        const env: Record<string, string> = { ...right(), ...change() };
        const { status, words } = await readinessOf(env, "/readyz");
        expect(status).to.equal(503);
        expect(words).to.match(sentence);
        expect(await agentSentence(env)).to.equal(words);
      });
    }

    it("is checked at startup, so that the log has its error", async () => {
      const api = await TestApi.start();
      const replica = await ApiProcess.beside(api, {
        ...right(),
        S3_BUCKET: "canary-bucket",
        METRICS_PORT: String(await freePort()),
      });
      try {
        await eventually(
          () => replica.output.includes("The object store has no bucket with the name in S3_BUCKET"),
          { what: "the sentence in the log" },
        );
      } finally {
        await replica.stop();
        await api.stop();
      }
    });
  });
});
