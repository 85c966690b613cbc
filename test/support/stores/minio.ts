import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "minio";
import { ChildProgram, freePort } from "../processes/childProgram.ts";
import { programPath } from "../processes/programs.ts";

/** A private MinIO on the loopback with one empty bucket. */
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
  /** Such as SIGSTOP, to make it hang, and SIGCONT. */
  signal(signal: NodeJS.Signals): void;
  /** Ends the server and removes its data. */
  remove(): Promise<void>;
}

export async function startMinio({ bucket = "joypod-test" }: { bucket?: string } = {}): Promise<TestMinio> {
  const data = mkdtempSync(join(tmpdir(), "joypod-minio-"));
  const port = await freePort();
  const keys = { accessKey: "joypod-test-user", secretKey: "joypod-test-secret" };
  const endpoint = `http://127.0.0.1:${port}`;
  const server = new ChildProgram({
    command: await programPath("minio"),
    args: ["server", "--quiet", "--address", `127.0.0.1:${port}`, data],
    env: { ...process.env, MINIO_ROOT_USER: keys.accessKey, MINIO_ROOT_PASSWORD: keys.secretKey, MINIO_BROWSER: "off", MINIO_UPDATE: "off" },
    isReady: async () => (await fetch(`${endpoint}/minio/health/ready`)).ok,
    install: "run `make programs`, which builds it from its Go module",
  });
  const client = new Client({ endPoint: "127.0.0.1", port, useSSL: false, region: "us-east-1", ...keys });
  await server.start();
  await client.makeBucket(bucket, "us-east-1");
  return {
    endpoint, region: "us-east-1", ...keys, bucket, client,
    stop: () => server.stop("SIGTERM"),
    start: () => server.start(),
    signal: (signal) => server.signal(signal),
    async remove() {
      await server.stop();
      rmSync(data, { recursive: true, force: true });
    },
  };
}
