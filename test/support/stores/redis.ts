import { execFile } from "node:child_process";
import { connect } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { ChildProgram, freePort } from "../processes/childProgram.ts";
import { repositoryRoot } from "../processes/programs.ts";

const run = promisify(execFile);

/** More than a run has APIs, so that none finds another's counts. */
export const redisDatabases = 4096;

/** A private, empty Redis on the loopback that keeps nothing on disk. */
export interface TestRedis {
  url: string;
  /** To stop, start and freeze; it comes back on the same port, empty. */
  server: ChildProgram;
}

let shared: Promise<TestRedis> | undefined;

/** The run's one Redis; keys of different tests must not meet, so the testApi gives each a database number. */
export function sharedRedis(): Promise<TestRedis> {
  return shared ??= startRedis();
}

/** A Redis of the caller's own, for tests that stop it. */
export async function startRedis(): Promise<TestRedis> {
  await run(join(repositoryRoot, "tools/ensureDebian.sh"), ["redis-server"], { timeout: 10 * 60_000 });
  const port = await freePort();
  const server = new ChildProgram({
    command: "redis-server",
    args: ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--databases", String(redisDatabases)],
    isReady: () => isListening(port),
    install: "apt-get install redis-server",
  });
  await server.start();
  return { url: `redis://127.0.0.1:${port}`, server };
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
