import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { copyFileSync, readFileSync, rmSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { Agent, get } from "node:https";
import { join } from "node:path";
import { Client } from "minio";
import type { KeyPair } from "../http/certificates.ts";
import { eventually } from "../clocks/eventually.ts";
import { ChildProgram, freePort } from "../processes/childProgram.ts";
import { temporaryFolder } from "../processes/temporaryFolder.ts";
import { programPath, rareCollections } from "../processes/programs.ts";

/** A MinIO on the loopback with one empty bucket that nobody else uses. */
export interface TestMinio {
  endpoint: string;
  region: string;
  accessKey: string;
  secretKey: string;
  bucket: string;
  client: Client;
  /** Ends the server; its data and its port stay. */
  stop(): Promise<void>;
  /** Starts it again after a stop. */
  start(): Promise<void>;
  /** Makes it hang. */
  freeze(): void;
  /**
   * Lets it go on, and waits until it has done what callers asked for that have given up since: it may store
   * something yet.
   */
  resume(): Promise<void>;
  /** Removes the bucket with its objects, and ends the server unless it is the run's. */
  remove(): Promise<void>;
}

/** What a MinIO is besides plain. */
export interface MinioOptions {
  bucket?: string;
  /** It takes TLS alone with this certificate, of this authority. */
  tls?: { pair: KeyPair; authorityFile: string };
  /** Further variables of the server. */
  env?: Record<string, string>;
}

let shared: Promise<TestMinio> | undefined;

/**
 * A bucket of the caller's own in the run's one MinIO, which is started when first asked for. Who stops or
 * freezes it lets it go on before the test ends; it ends with the test process.
 */
export async function sharedMinio(): Promise<TestMinio> {
  const server = await (shared ??= startMinio());
  const bucket = `test-${randomBytes(6).toString("hex")}`;
  await server.client.makeBucket(bucket, server.region);
  return { ...server, bucket, remove: () => removeBucket(server.client, bucket) };
}

async function removeBucket(client: Client, bucket: string): Promise<void> {
  const names: string[] = [];
  for await (const { name } of client.listObjectsV2(bucket, "", true) as AsyncIterable<{ name?: string }>)
    if (name !== undefined) names.push(name);
  await client.removeObjects(bucket, names);
  await client.removeBucket(bucket);
}

/** Starts a MinIO of the caller's own, with options of its own. */
export async function startMinio({
  bucket = "joypod-test",
  tls,
  env = {},
}: MinioOptions = {}): Promise<TestMinio> {
  const data = temporaryFolder("minio");
  const port = await freePort();
  const keys = { accessKey: "joypod-test-user", secretKey: "joypod-test-secret" };
  const endpoint = `${tls === undefined ? "http" : "https"}://127.0.0.1:${port}`;
  const agent = tls === undefined ? undefined : new Agent({ ca: readFileSync(tls.authorityFile) });
  const server = new ChildProgram({
    command: await programPath("minio"),
    args: [
      "server",
      "--quiet",
      "--address",
      `127.0.0.1:${port}`,
      ...(tls === undefined ? [] : ["--certs-dir", certificatesFolder(tls.pair)]),
      data,
    ],
    env: {
      ...process.env,
      ...rareCollections,
      MINIO_ROOT_USER: keys.accessKey,
      MINIO_ROOT_PASSWORD: keys.secretKey,
      MINIO_BROWSER: "off",
      MINIO_UPDATE: "off",
      ...env,
    },
    isReady: () => isReady(`${endpoint}/minio/health/ready`, agent),
    install: "run `make programs`, which builds it from its Go module",
  });
  const region = env.MINIO_SITE_REGION ?? "us-east-1";
  const client = new Client({
    endPoint: "127.0.0.1",
    port,
    useSSL: tls !== undefined,
    region,
    ...keys,
    ...(agent !== undefined && { transportAgent: agent }),
  });
  await server.start();
  // On a busy machine it is ready a moment before it takes requests.
  await eventually(
    async () => {
      if (!(await client.bucketExists(bucket))) await client.makeBucket(bucket, region);
      return true;
    },
    { what: "the bucket", timeoutMs: 30_000 },
  );
  return {
    endpoint,
    region,
    ...keys,
    bucket,
    client,
    stop: () => server.stop("SIGTERM"),
    start: () => server.start(),
    freeze: () => server.signal("SIGSTOP"),
    async resume() {
      server.signal("SIGCONT");
      await eventually(() => connectionsLeftAt(port) === 0, {
        what: "the store to be done with callers that have gone",
        timeoutMs: 30_000,
      });
    },
    async remove() {
      await server.stop();
      rmSync(data, { recursive: true, force: true });
    },
  };
}

/** The server's ends of loopback connections whose clients have closed theirs: the kernel's CLOSE_WAIT. */
function connectionsLeftAt(port: number): number {
  const isLeft = (row: string): boolean => {
    const [, local = "", , state] = row.trim().split(/\s+/);
    return state === "08" && Number.parseInt(local.split(":")[1] ?? "", 16) === port;
  };
  return ["/proc/net/tcp", "/proc/net/tcp6"]
    .flatMap((table) => readFileSync(table, "utf8").split("\n"))
    .filter(isLeft).length;
}

function certificatesFolder({ certificateFile, keyFile }: KeyPair): string {
  const folder = temporaryFolder("minio-certs");
  copyFileSync(certificateFile, join(folder, "public.crt"));
  copyFileSync(keyFile, join(folder, "private.key"));
  return folder;
}

async function isReady(url: string, agent: Agent | undefined): Promise<boolean> {
  if (agent === undefined) return (await fetch(url)).ok;
  const [response] = (await once(get(url, { agent }), "response")) as [IncomingMessage];
  response.resume();
  return response.statusCode === 200;
}
