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

/** A MinIO on the loopback address with a separate, empty bucket. */
export interface TestMinio {
  endpoint: string;
  region: string;
  accessKey: string;
  secretKey: string;
  bucket: string;
  client: Client;
  /** Stops the server, and keeps its data and port. */
  stop(): Promise<void>;
  /** Starts it after a stop. */
  start(): Promise<void>;
  /** Freezes the server. */
  freeze(): void;
  /**
   * Resumes the server, and waits until it has processed requests that callers have abandoned, because these
   * may still store objects.
   */
  resume(): Promise<void>;
  /** Removes the bucket and its objects. Stops the server unless it is shared. */
  remove(): Promise<void>;
}

/** Options of a MinIO. */
export interface MinioOptions {
  bucket?: string;
  /** Accepts only TLS, with this certificate of this CA. */
  tls?: { pair: KeyPair; authorityFile: string };
  /** Additional environment variables of the server. */
  env?: Record<string, string>;
}

let shared: Promise<TestMinio> | undefined;

/**
 * Creates a bucket in the run's shared MinIO, which is started on first use and ends with the test process. A
 * caller that stops or freezes it must resume it before the test ends.
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

/** Starts a separate MinIO with the given options. */
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
  // On a busy machine, it reports ready shortly before it accepts requests.
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

/** Returns the number of server sockets on loopback whose clients have closed the connection (CLOSE_WAIT). */
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
