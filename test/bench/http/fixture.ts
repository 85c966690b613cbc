import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readConfig } from "#api/config.ts";
import { sessionCookieName } from "#api/auth/cookies.ts";
import { closeDeps, createDeps } from "#api/createDeps.ts";
import type { Deps } from "#api/deps.ts";
import { silentLogger } from "#runtime/logger.ts";
import {
  aGame,
  aGameSessionRow,
  aPartner,
  aUser,
  type TestGame,
  type TestUser,
} from "#test/factories/catalog.ts";
import { freePort } from "#test/support/processes/childProgram.ts";
import { imageEnvironment } from "#test/support/processes/imageEnvironment.ts";
import { createTestDatabase } from "#test/support/stores/postgres.ts";
import { repositoryRoot } from "#test/support/processes/programs.ts";
import { startRedis } from "#test/support/stores/redis.ts";
import { ServedProgram } from "./servedProgram.ts";

/** A player with a running session. */
export interface BenchPlayer {
  user: TestUser;
  cookie: string;
  gameSessionId: string;
}

/** Real stores with players, games and sessions, shared by the programs under test. */
export interface BenchFixture {
  deps: Deps;
  players: BenchPlayer[];
  /** Starts the API as in production, with additional environment variables `env`. */
  startApi(env?: Record<string, string>): Promise<ServedProgram>;
  /** Starts a peer that does the same work on the same stores. */
  startPeer(kind: "fastify" | "bare"): Promise<ServedProgram>;
  discard(): Promise<void>;
}

const games = 60;

export async function createBenchFixture({ players: count }: { players: number }): Promise<BenchFixture> {
  const [database, redis] = await Promise.all([createTestDatabase(), startRedis()]);
  const directory = mkdtempSync(join(tmpdir(), "joypod-bench-"));
  const env = environment(database.url, redis.url, deadKubeconfig(directory));
  const deps = createDeps(readConfig(env), silentLogger);
  const players = await fill(deps, count);
  const programs: ServedProgram[] = [];
  const start = async (
    file: string,
    args: string[],
    extra: Record<string, string> = {},
  ): Promise<ServedProgram> => {
    const [port, metricsPort] = [await freePort(), await freePort()];
    const program = new ServedProgram({
      args: [join(repositoryRoot, file), ...args],
      port,
      metricsPort,
      env: {
        ...env,
        PORT: String(port),
        METRICS_PORT: String(metricsPort),
        BASE_URL: `http://127.0.0.1:${port}`,
        ...extra,
      },
    });
    programs.push(program);
    await program.start();
    return program;
  };
  return {
    deps,
    players,
    startApi: (extra) => start("api/dist/programs/api.js", [], { ...imageEnvironment(), ...extra }),
    startPeer: (kind) => start("test/bench/http/peer.ts", [kind]),
    async discard() {
      await Promise.all(programs.map((program) => program.stop()));
      await closeDeps(deps);
      await database.drop();
      await redis.server.stop();
      rmSync(directory, { recursive: true });
    },
  };
}

function environment(databaseUrl: string, redisUrl: string, kubeconfig: string): Record<string, string> {
  return {
    PATH: process.env["PATH"] ?? "",
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    KUBECONFIG: kubeconfig,
    S3_ENDPOINT: "http://127.0.0.1:1",
    S3_ACCESS_KEY: "none",
    S3_SECRET_KEY: "none",
    SIGNING_KEYS: `bench:${randomBytes(32).toString("base64")}`,
    PASSWORD_PEPPER: "pepper of the benches",
    BASE_URL: "http://127.0.0.1",
    // With the default timeout, a busy machine could fall back to counting limits in memory.
    REDIS_TIMEOUT_MS: "5000",
    // Limits are counted, but never reached.
    POLLS_PER_MINUTE: "1000000",
    CATALOG_REQUESTS_PER_MINUTE: "1000000",
    LOG_LEVEL: "info",
  };
}

/** Writes a kubeconfig of an unavailable cluster; no measured request uses it. */
function deadKubeconfig(directory: string): string {
  const path = join(directory, "kubeconfig");
  writeFileSync(
    path,
    JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      "current-context": "none",
      users: [{ name: "none", user: {} }],
      clusters: [{ name: "none", cluster: { server: "http://127.0.0.1:1" } }],
      contexts: [{ name: "none", context: { cluster: "none", user: "none" } }],
    }),
  );
  return path;
}

async function fill(deps: Deps, count: number): Promise<BenchPlayer[]> {
  const { id: partnerId } = await aPartner(deps);
  for (let index = 0; index < games; index += 1) {
    await aGame(deps, {
      partnerId,
      title: `Game ${String(index).padStart(3, "0")}`,
      description: "A game that is described in a few words. ".repeat(4),
      tags: ["bench", "racing"],
      thumbnail: "https://pictures.test/thumbnail.png",
      releaseDate: new Date("2026-01-02"),
    });
  }
  const game = await aGame(deps, { partnerId, title: "Played" });
  return Promise.all(Array.from({ length: count }, () => aBenchPlayer(deps, game)));
}

async function aBenchPlayer(deps: Deps, game: TestGame): Promise<BenchPlayer> {
  const user = await aUser(deps);
  const { id: gameSessionId } = await aGameSessionRow(deps, { user, game });
  const { sid, endsAt } = await deps.authSessions.create(user.id);
  const { token } = deps.tokens.issue({ sub: user.id, name: user.name, email: user.email, sid }, endsAt);
  return { user, cookie: `${sessionCookieName(deps.config)}=${token}`, gameSessionId };
}
