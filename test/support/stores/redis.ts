import { execFile } from "node:child_process";
import { connect } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import type { KeyPair } from "../http/certificates.ts";
import { ChildProgram, freePort } from "../processes/childProgram.ts";
import { repositoryRoot } from "../processes/programs.ts";

const run = promisify(execFile);

/** More than the APIs of a run, so that each API gets an empty database. */
export const redisDatabases = 4096;

/** A separate, empty Redis on the loopback address, without persistence. */
export interface TestRedis {
  url: string;
  /** Stops, starts and freezes it. It restarts on the same port, empty. */
  server: ChildProgram;
}

let shared: Promise<TestRedis> | undefined;

/**
 * Returns the shared Redis of the run. Keys of different tests must not collide, so each TestApi uses a
 * separate database number.
 */
export function sharedRedis(): Promise<TestRedis> {
  return (shared ??= startRedis());
}

/** Protection of a Redis. */
export interface RedisProtection {
  /** Accepts only TLS, with this certificate. */
  pair: KeyPair;
  password: string;
}

/** Starts a separate Redis, for tests that stop it. The URL of a protected one has no password. */
export async function startRedis(protection?: RedisProtection): Promise<TestRedis> {
  await run(join(repositoryRoot, "tools/ensureDebian.sh"), ["redis-server"], { timeout: 10 * 60_000 });
  const port = await freePort();
  const server = new ChildProgram({
    command: "redis-server",
    args: [
      ...listeningOptions(port, protection),
      "--bind",
      "127.0.0.1",
      "--save",
      "",
      "--appendonly",
      "no",
      "--databases",
      String(redisDatabases),
    ],
    isReady: () => isListening(port),
    install: "apt-get install redis-server",
  });
  await server.start();
  return { url: `${protection === undefined ? "redis" : "rediss"}://127.0.0.1:${port}`, server };
}

function listeningOptions(port: number, protection: RedisProtection | undefined): string[] {
  if (protection === undefined) return ["--port", String(port)];
  const {
    pair: { certificateFile, keyFile },
    password,
  } = protection;
  return [
    "--port",
    "0",
    "--tls-port",
    String(port),
    "--tls-cert-file",
    certificateFile,
    "--tls-key-file",
    keyFile,
    "--tls-ca-cert-file",
    certificateFile,
    "--tls-auth-clients",
    "no",
    "--requirepass",
    password,
  ];
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
