import { expect } from "chai";
import { randomBytes } from "node:crypto";
import pg from "pg";
import { clusterRules, sessionsNamespaceRules } from "#api/rbac.ts";
import { TestApi } from "#test/support/http/api.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { grant } from "#test/support/cluster/kubeRoles.ts";
import {
  everyRequest,
  sendInOrder,
  sendAtOnce,
  type NamedResponses,
  type NamedRequest,
} from "#test/support/openapi/everyRequest.ts";
import { operatorOf, type FakeOperator } from "#test/support/cluster/fakeOperator.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/stores/postgres.ts";
import { startRedis, type TestRedis } from "#test/support/stores/redis.ts";

/**
 * Words of ours, of a store or of a library that tell more than a caller may know; a version, a path, an
 * address.
 */
const sessionToken = /eyJ[\w-]+\.[\w-]+\.[\w-]+/g;
const insides =
  /relation|column|permission|denied|transaction|SELECT|INSERT|UPDATE|prisma|pg_|WRONGTYPE|bucket|minio|gamesession|\bat \w|node_modules|\.[jt]s\b|\/(?:work|home|root|usr|src)\/|ECONN|\b\d+\.\d+\.\d+\b(?!\.\d)|127\.0\.0\.1(?!:\d+\/)/i;

const tables = [
  "users",
  "auth_sessions",
  "identities",
  "partners",
  "partner_keys",
  "games",
  "game_versions",
  "game_uploads",
  "favorites",
  "save_slots",
  "game_sessions",
  "game_launch_days",
  "catalog_totals",
  "idempotency_keys",
  "audit_events",
];

describe("the API withholds internal details", function () {
  this.timeout(60_000);
  const role = `faulty_${randomBytes(4).toString("hex")}`;
  let redis: TestRedis;
  let database: TestDatabase;
  let admin: pg.Client;
  let api: TestApi;
  let operator: FakeOperator;
  let healthy: Record<string, number>;

  before(async () => {
    [redis, database] = await Promise.all([startRedis(), createTestDatabase()]);
    admin = new pg.Client({ connectionString: database.url });
    await admin.connect();
    // The owner of tables may do everything, whatever is revoked.
    await admin.query(
      `CREATE ROLE ${role} LOGIN; GRANT ALL ON ALL TABLES IN SCHEMA public TO ${role}; GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO ${role}`,
    );
    const url = new URL(database.url);
    url.username = role;
    const many = "100000";
    api = await TestApi.start({
      kube: true,
      minio: true,
      redisUrl: redis.url,
      database: { ...database, url: url.href },
      hasFaults: true,
      isLed: true,
      env: {
        DATABASE_TIMEOUT_MS: "1000",
        STOP_WAIT_SECONDS: "1",
        S3_TIMEOUT_MS: "2000",
        SESSION_MAX_SECONDS: "31536000",
        CATALOG_REQUESTS_PER_MINUTE: many,
        PARTNER_REQUESTS_PER_MINUTE: many,
        LAUNCHES_PER_MINUTE: many,
        LAUNCHES_PER_HOUR: many,
        PARTNER_UPLOADS_PER_HOUR: many,
      },
    });
    operator = operatorOf(api);
    await operator.addNode(1000);
    await eventually(() =>
      api.deps.cluster.gameNodes.cache.list().some(({ status }) => status?.capacity !== undefined),
    );
    healthy = statusesOf(await sendInOrder(await everyRequest(api)));
  });
  beforeEach(() => api.deps.redis.flushall());
  after(async () => {
    await operator.removeNodes();
    await api.stop();
    await admin.end();
    await database.drop();
    await redis.server.stop();
  });

  function statusesOf(responses: NamedResponses): Record<string, number> {
    return Object.fromEntries([...responses].map(([name, { status }]) => [name, status]));
  }

  /** What could not be done is said in general words, with an id under which the log tells more. */
  function expectGeneral(responses: NamedResponses): void {
    for (const [name, response] of responses) {
      const { status, headers, text } = response;
      if (status < 500) continue;
      const {
        error,
        requestId = headers.get("x-request-id"),
        ...rest
      } = response.json<{ error: string; requestId?: string }>();
      expect(error, name).to.be.oneOf(status === 500 ? ["internal_error"] : ["unavailable", "no_servers"]);
      expect(["message", "url"], name).to.include.members(Object.keys(rest));
      // Readiness tells admins which store is missing, and what of it.
      const shown = name === "isReady" ? text.replaceAll(/bucket/gi, "") : text;
      // An id is random, and may be any of these words; so is a renewed session token, which may have `pg_`
      // in it.
      const random = [requestId ?? "", ...(headers.get("set-cookie")?.match(sessionToken) ?? [])];
      expect(
        random.reduce(
          (seen, id) => seen.replaceAll(id, ""),
          // The version of a public protocol says nothing about the inside.
          `${shown} ${[...headers].join(" ")}`.replaceAll(api.url, "").replace("tus-resumable,1.0.0", ""),
        ),
        name,
      ).to.not.match(insides);
      expect(requestId, name).to.equal(headers.get("x-request-id"));
      if (status === 503) expect(Number(headers.get("retry-after")), name).to.be.at.least(1);
      else
        expect(
          api.logLines.filter(
            (line) => line.includes(`"requestId":"${requestId}"`) && line.includes('"level":"error"'),
          ),
          name,
        ).to.not.be.empty;
    }
  }

  async function expectRecovery(): Promise<void> {
    await api.deps.redis.flushall();
    expect(statusesOf(await sendInOrder(await everyRequest(api)))).to.deep.equal(healthy);
  }

  /** Names of the requests that were answered otherwise than in health. */
  function changed(responses: NamedResponses): string[] {
    return [...responses].filter(([name, { status }]) => status !== healthy[name]).map(([name]) => name);
  }

  /** Responses during a fault, all of them fit to be seen by anybody; afterwards all is as before. */
  async function during(
    begin: () => Promise<unknown>,
    end: () => Promise<unknown>,
    send = sendInOrder,
  ): Promise<NamedResponses> {
    const requests = await everyRequest(api);
    await begin();
    try {
      const responses = await send(requests);
      expectGeneral(responses);
      return responses;
    } finally {
      await end();
    }
  }

  describe("after a fault in the database:", () => {
    const endConnections = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${role}'`;
    after(expectRecovery);

    for (const table of tables) {
      it(`table ${table} is missing`, async () => {
        const responses = await during(
          () => admin.query(`ALTER TABLE ${table} RENAME TO mislaid`),
          () => admin.query(`ALTER TABLE mislaid RENAME TO ${table}`),
        );
        // The trail must not undo what it tells of. An export of an account contains it.
        if (table === "audit_events") expect(changed(responses)).to.deep.equal(["exportAccount"]);
        else expect(changed(responses)).to.not.be.empty;
      });
    }

    it("no table is accessible", async () => {
      const [begin, end] = [
        `REVOKE ALL ON ALL TABLES IN SCHEMA public FROM ${role}`,
        `GRANT ALL ON ALL TABLES IN SCHEMA public TO ${role}`,
      ];
      expect(
        changed(
          await during(
            () => admin.query(begin),
            () => admin.query(end),
          ),
        ),
      ).to.include.members(["listGames", "a sign-in", "registerGame"]);
    });

    /** What passes by itself, as when another server takes over, is 503 for each that it hits. */
    function expectUnavailable(responses: NamedResponses, hit: string[]): void {
      expect(changed(responses)).to.include.members(hit);
      for (const name of changed(responses)) expect(responses.get(name)?.status, name).to.equal(503);
    }

    it("nothing can be written", async () => {
      const responses = await during(
        () => admin.query(`ALTER ROLE ${role} SET default_transaction_read_only = on; ${endConnections}`),
        () => admin.query(`ALTER ROLE ${role} RESET default_transaction_read_only; ${endConnections}`),
      );
      expectUnavailable(responses, [
        "a favourite with a key",
        "a launch with a key",
        "a sign-in",
        "registerGame",
        "a changed game",
        "uploadArchive",
        "deleteGame",
      ]);
    });

    it("all connections are taken", async () => {
      const responses = await during(
        () => admin.query(`ALTER ROLE ${role} CONNECTION LIMIT 0; ${endConnections}`),
        () => admin.query(`ALTER ROLE ${role} CONNECTION LIMIT -1`),
      );
      expectUnavailable(responses, ["listGames", "a sign-in", "listPartnerGames", "registerGame", "isReady"]);
    });

    it("tables are locked", async () => {
      const responses = await during(
        () => admin.query(`BEGIN; LOCK TABLE ${tables.join()} IN ACCESS EXCLUSIVE MODE`),
        () => admin.query("COMMIT"),
        sendAtOnce,
      );
      expectUnavailable(responses, ["listGames", "a sign-in", "listPartnerGames", "registerGame"]);
    });

    it("connections break in the middle of transactions", async () => {
      const hit = ["a favourite with a key", "a launch with a key", "registerGame"];
      const waiting = `SELECT 1 FROM pg_stat_activity WHERE usename = '${role}' AND wait_event_type = 'Lock'`;
      const responses = await during(
        () => admin.query("BEGIN; LOCK TABLE games, favorites IN EXCLUSIVE MODE"),
        () => admin.query("COMMIT"),
        async (requests) => {
          const response = sendAtOnce(requests.filter(({ name }) => hit.includes(name)));
          await eventually(
            async () => (await api.deps.postgres.pool.query(waiting)).rowCount === hit.length,
            { intervalMs: 10, what: "the transactions" },
          );
          await admin.query(endConnections);
          return response;
        },
      );
      expectUnavailable(responses, hit);
    });
  });

  describe("and changes nothing after a fault in Redis:", () => {
    after(expectRecovery);

    /** Does the same to every key that requests have left. */
    function corrupting(
      how: (key: string) => Promise<unknown>,
    ): (requests: readonly NamedRequest[]) => Promise<NamedResponses> {
      const repeatable = ["a wrong sign-in", "listGames", "listGameSessions", "listPartnerGames"];
      return async (requests) => {
        await sendInOrder(requests.filter(({ name }) => repeatable.includes(name)));
        const keys = await api.deps.redis.keys("*");
        expect(keys.map((key) => key.split(":", 2)[1])).to.include.members([
          "limit",
          "authSession",
          "lockout",
        ]);
        await Promise.all(keys.map(how));
        return sendInOrder(requests);
      };
    }

    const nothing = (): Promise<void> => Promise.resolve();
    const flush = (): Promise<unknown> => api.deps.redis.flushall();

    it("values have another type", async () => {
      expect(
        changed(
          await during(
            nothing,
            flush,
            corrupting((key) => api.deps.redis.multi().del(key).rpush(key, "x").exec()),
          ),
        ),
      ).to.be.empty;
    });

    it("values are nonsense", async () => {
      expect(
        changed(
          await during(
            nothing,
            flush,
            corrupting((key) => api.deps.redis.set(key, "nonsense")),
          ),
        ),
      ).to.be.empty;
    });

    it("memory is full", async () => {
      expect(
        changed(
          await during(
            () => api.deps.redis.config("SET", "maxmemory", "1"),
            () => api.deps.redis.config("SET", "maxmemory", "0"),
          ),
        ),
      ).to.be.empty;
    });
  });

  it("after a fault in the object store: the bucket is missing", async () => {
    const { client, bucket } = api.deps.objectStore;
    const responses = await during(
      () => emptyBucket().then(() => client.removeBucket(bucket)),
      () => client.makeBucket(bucket, "us-east-1"),
    );
    const unavailable = [
      "uploadArchive",
      "createResumableUpload",
      "uploadNewSave",
      "restoreSave",
      "copySaveVersion",
      "getSavePicture",
      "getGameRunLog",
      "getVerificationPicture",
      "isReady",
    ];
    expect(changed(responses)).to.have.members(unavailable);
    expect(unavailable.map((name) => responses.get(name)?.status)).to.deep.equal(unavailable.map(() => 503));
    await expectRecovery();
  });

  async function emptyBucket(): Promise<void> {
    const { client, bucket } = api.deps.objectStore;
    for await (const { name } of client.listObjectsV2(bucket, "", true) as AsyncIterable<{ name: string }>)
      await client.removeObject(bucket, name);
  }

  it("after a fault in the cluster: it refuses the API's requests", async () => {
    const { server, sessionsNamespace } = api.kube ?? {};
    if (server === undefined || sessionsNamespace === undefined) throw new Error("There is no cluster.");
    const subject = { kind: "User", name: `api-of-${sessionsNamespace}` } as const;
    const allow = async (isAllowed: boolean): Promise<void> => {
      await grant(
        server.admin,
        subject,
        clusterRules.filter(({ resources }) => isAllowed || !resources.includes("gamesessions")),
      );
      await grant(server.admin, subject, isAllowed ? sessionsNamespaceRules : [], sessionsNamespace);
    };
    const canRead = async (): Promise<boolean> =>
      api.deps.gameSessionWriter.find("gs-none").then(
        () => true,
        () => false,
      );
    const responses = await during(
      async () => {
        await allow(false);
        await eventually(async () => !(await canRead()));
      },
      async () => {
        await allow(true);
        await eventually(canRead);
      },
    );
    expect(changed(responses)).to.have.members(["a launch with a key", "saveGameSession", "stopGameSession"]);
    expect(
      ["a launch with a key", "saveGameSession", "stopGameSession"].map(
        (name) => responses.get(name)?.status,
      ),
    ).to.deep.equal([503, 503, 202]);
    await expectRecovery();
  });
});
