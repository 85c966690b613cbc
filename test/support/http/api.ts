import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createApp } from "#api/app.ts";
import { createBackground } from "#api/background/background.ts";
import type { BackgroundJob } from "#runtime/scheduling/backgroundJob.ts";
import { sessionCookieName } from "#api/auth/cookies.ts";
import { readConfig, secretLogKeys } from "#api/config.ts";
import { closeDeps, createDeps } from "#api/createDeps.ts";
import type { Deps } from "#api/deps.ts";
import { createLogger } from "#runtime/program/createLogger.ts";
import { readWebPages } from "#api/http/serveWeb.ts";
import { clusterRules, releaseNamespaceRules, sessionsNamespaceRules } from "#api/rbac.ts";
import { close, createHttpServer, listen } from "#api/http/server.ts";
import { leases } from "#kube/api/builtin.ts";
import { systemClock, type Clock } from "#runtime/scheduling/clock.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { ApiClient } from "./apiClient.ts";
import { eventually } from "../clocks/eventually.ts";
import { freePort } from "../processes/childProgram.ts";
import { sharedKubeApiServer, type KubeApiServer } from "../cluster/kubeApiServer.ts";
import { grant } from "../cluster/kubeRoles.ts";
import { checkAgainstDocument } from "../openapi/documentCheck.ts";
import { sharedMinio, type TestMinio } from "../stores/minio.ts";
import { createTestDatabase, type TestDatabase } from "../stores/postgres.ts";
import { sharedRedis } from "../stores/redis.ts";

export interface TestApiOptions {
  /** Overrides of the default environment below. */
  env?: Record<string, string>;
  clock?: Clock;
  /** With a real Kubernetes API server, under the API's own rights, and with background work. */
  kube?: boolean;
  /** With a real object store. */
  minio?: boolean;
  /** Host name for browsers. The API then listens on all addresses of this machine. */
  publicName?: string;
  /** Another Redis than the shared one, for tests that stop it. */
  redisUrl?: string;
  /** False if Redis is intentionally unreachable. */
  awaitsRedis?: boolean;
  /** An existing database, to share it between two APIs. Default: a new one. */
  database?: TestDatabase;
  /** The test causes errors, so they are not printed. */
  hasFaults?: boolean;
  /** With `kube`: another process seems to lead, so this one does only what it is asked to. */
  isLed?: boolean;
}

let nextRedisDatabase = 0;

/** The whole API in this process with separate real stores, composed like in main.ts, on a free port. */
export class TestApi {
  readonly deps: Deps;
  readonly url: string;
  readonly database: TestDatabase;
  /** Log lines, to check that something was or was not logged. */
  readonly logLines: string[];
  /** With `kube`. */
  readonly kube: { server: KubeApiServer; sessionsNamespace: string } | undefined;
  /** With `minio`. */
  readonly minio: TestMinio | undefined;
  readonly #server: Server;
  readonly #background: BackgroundJob | undefined;
  readonly #cleanUps: (() => Promise<void> | void)[];

  private constructor(parts: Parts, cleanUps: (() => Promise<void> | void)[]) {
    ({
      deps: this.deps,
      url: this.url,
      database: this.database,
      logLines: this.logLines,
      kube: this.kube,
      minio: this.minio,
    } = parts);
    this.#server = parts.server;
    this.#background = parts.background;
    this.#cleanUps = cleanUps;
  }

  static async start(options: TestApiOptions = {}): Promise<TestApi> {
    const cleanUps: (() => Promise<void> | void)[] = [];
    const database = options.database ?? (await createTestDatabase());
    if (options.database === undefined) cleanUps.push(() => database.drop());
    const minio = options.minio === true ? await sharedMinio() : undefined;
    if (minio !== undefined) cleanUps.push(() => minio.remove());
    const cluster =
      options.kube === true
        ? await clusterForApi(options)
        : { env: { KUBECONFIG: deadKubeconfig(cleanUps) }, kube: undefined };
    const redisUrl = options.redisUrl ?? `${(await sharedRedis()).url}/${nextRedisDatabase++}`;
    const port = await freePort();
    const url = `http://${options.publicName ?? "127.0.0.1"}:${port}`;
    const config = readConfig({
      ...defaults,
      BASE_URL: url,
      DATABASE_URL: database.url,
      REDIS_URL: redisUrl,
      ...storeEnv(minio),
      ...cluster.env,
      ...options.env,
    });
    const logLines: string[] = [];
    const logger = createLogger({
      program: "api",
      level: config.logLevel,
      secretKeys: secretLogKeys,
      destination: { write: (line) => keepLine(logLines, line, options.hasFaults) },
    });
    const deps = createDeps(config, logger, options.clock ?? systemClock);
    const pages = config.webRoot === undefined ? undefined : await readWebPages(config.webRoot);
    const background = options.kube === true ? createBackground(deps) : undefined;
    await background?.start();
    const server = createHttpServer(createApp(deps, pages).callback(), config, logger);
    await listen(server, port, options.publicName === undefined ? "127.0.0.1" : "::");
    if (options.awaitsRedis !== false)
      await eventually(() => deps.redis.ping(), { what: "the connection to Redis" });
    return new TestApi(
      { deps, url, database, logLines, kube: cluster.kube, minio, server, background },
      cleanUps,
    );
  }

  /** Returns a browser client signed in as `user`. `at` is another process on the same stores. */
  as(user: { id: string; name: string; email: string }, at: { url: string } = this): ApiClient {
    return new ApiClient(
      at.url,
      this.signedInCookie(user).then(({ name, value }) => ({ cookie: `${name}=${value}` })),
      checkAgainstDocument,
    );
  }

  /** Returns a client with a partner's key. */
  asPartner({ key }: { key: string }, at: { url: string } = this): ApiClient {
    return new ApiClient(at.url, Promise.resolve({ authorization: `Bearer ${key}` }), checkAgainstDocument);
  }

  /** Returns a browser client that is not signed in. */
  anonymous(at: { url: string } = this): ApiClient {
    return new ApiClient(at.url, undefined, checkAgainstDocument);
  }

  async stop(): Promise<void> {
    this.deps.lifecycle.isStopping = true;
    this.deps.gameSessionEvents.close();
    await close(this.#server, 2_000);
    await this.#background?.stop();
    await closeDeps(this.deps);
    for (const cleanUp of this.#cleanUps) await cleanUp();
  }

  /** Returns the cookie of a new sign-in of `user`. */
  async signedInCookie({
    id,
    name,
    email,
  }: {
    id: string;
    name: string;
    email: string;
  }): Promise<{ name: string; value: string }> {
    const { sid, endsAt } = await this.deps.authSessions.create(id);
    const { token } = this.deps.tokens.issue({ sub: id, name, email, sid }, endsAt);
    return { name: sessionCookieName(this.deps.config), value: token };
  }
}

interface Parts {
  deps: Deps;
  url: string;
  database: TestDatabase;
  logLines: string[];
  kube: { server: KubeApiServer; sessionsNamespace: string } | undefined;
  minio: TestMinio | undefined;
  server: Server;
  background: BackgroundJob | undefined;
}

/** Prints errors immediately, next to the failing test. */
function keepLine(lines: string[], line: string, isExpected = false): void {
  lines.push(line);
  if (!isExpected && line.includes('"level":"error"')) process.stderr.write(line);
}

const defaults = {
  SIGNING_KEYS: `test:${randomBytes(32).toString("base64")}`,
  PASSWORD_PEPPER: "pepper of the tests",
  BCRYPT_COST: "4",
  PASSWORD_WORKERS: "1",
  LOG_LEVEL: "debug",
  // With the default timeout, a busy machine could fall back to counting limits in memory.
  REDIS_TIMEOUT_MS: "5000",
  // Receivers of webhooks are on loopback, and names resolve only if a test serves them.
  WEBHOOK_ALLOW_HTTP: "on",
  WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8",
  WEBHOOK_NAMESERVERS: "127.0.0.1:1",
  // Disables caching, so that a test's changes to stores are visible immediately.
  READY_KEPT_MS: "0",
};

/** Returns the address of the store, or an unreachable one. */
function storeEnv(minio: TestMinio | undefined): Record<string, string> {
  const { endpoint, region, bucket, accessKey, secretKey } = minio ?? {
    endpoint: "http://127.0.0.1:1",
    region: "us-east-1",
    bucket: "none",
    accessKey: "none",
    secretKey: "none",
  };
  return {
    S3_ENDPOINT: endpoint,
    S3_REGION: region,
    S3_BUCKET: bucket,
    S3_ACCESS_KEY: accessKey,
    S3_SECRET_KEY: secretKey,
  };
}

/** Creates separate namespaces, and an identity with the rights of the chart's Roles for the API. */
async function clusterForApi({ isLed = false }: TestApiOptions): Promise<{
  env: Record<string, string>;
  kube: { server: KubeApiServer; sessionsNamespace: string };
}> {
  const server = await sharedKubeApiServer();
  const [sessionsNamespace, releaseNamespace] = await Promise.all([
    server.createNamespace("sessions"),
    server.createNamespace("release"),
  ]);
  const user = `api-of-${sessionsNamespace}`;
  const { kubeconfigPath } = await server.asUser(user, [...clusterRules]);
  await grant(server.admin, { kind: "User", name: user }, [...sessionsNamespaceRules], sessionsNamespace);
  await grant(server.admin, { kind: "User", name: user }, [...releaseNamespaceRules], releaseNamespace);
  if (isLed) {
    const spec = { holderIdentity: "another", leaseDurationSeconds: 3600 };
    await new ResourceClient(server.admin, leases).create({
      metadata: { name: "joypod-api", namespace: releaseNamespace },
      spec,
    });
  }
  return {
    env: {
      KUBECONFIG: kubeconfigPath,
      SESSIONS_NAMESPACE: sessionsNamespace,
      POD_NAMESPACE: releaseNamespace,
    },
    kube: { server, sessionsNamespace },
  };
}

/** Writes a kubeconfig of an unavailable cluster. */
function deadKubeconfig(cleanUps: (() => void)[]): string {
  const directory = mkdtempSync(join(tmpdir(), "joypod-kubeconfig-"));
  cleanUps.push(() => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, "config");
  writeFileSync(
    path,
    JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      "current-context": "none",
      clusters: [{ name: "none", cluster: { server: "http://127.0.0.1:1" } }],
      users: [{ name: "none", user: {} }],
      contexts: [{ name: "none", context: { cluster: "none", user: "none" } }],
    }),
  );
  return path;
}
