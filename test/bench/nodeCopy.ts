/**
 * Measures the copy of a game from the object store to a node's disk: the agent, which verifies the archive,
 * compared with `curl | tar xz`, which verifies nothing. Usage: `node test/bench/nodeCopy.ts [--megabytes N]
 * [--rounds N]`.
 */
import { execFile } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, mkdtemp, open, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { parseArgs, promisify } from "node:util";
import { systemClock } from "#runtime/scheduling/clock.ts";
import { silentLogger } from "#runtime/logger.ts";
import { fetchContent } from "#node-agent/cache/fetchContent.ts";
import { createObjectFiles } from "#node-agent/cache/objectFiles.ts";
import { readDiskSpace } from "#node-agent/cache/space.ts";
import { nodePaths } from "#node-agent/disk/nodePaths.ts";
import { TreeRemover } from "#node-agent/disk/treeRemover.ts";
import { createObjectStore } from "#node-agent/objectStore/objectStore.ts";
import { startMinio, type TestMinio } from "../support/stores/minio.ts";
import { median } from "./row.ts";

const run = promisify(execFile);

/** Medians over the rounds, in seconds. `ratio` is the speedup of the agent. */
export interface NodeCopyResult {
  unpackedBytes: number;
  packedBytes: number;
  agentSeconds: number;
  peerSeconds: number;
  ratio: number;
}

interface Archive {
  bucket: string;
  key: string;
  sha256: string;
  sizeBytes: number;
  unpackedSizeBytes: number;
}

/** Measures both, alternating, so that other load on the machine affects both. */
export async function measureNodeCopy({
  megabytes = 512,
  rounds = 3,
}: { megabytes?: number; rounds?: number } = {}): Promise<NodeCopyResult> {
  const directory = await mkdtemp(join(tmpdir(), "joypod-bench-"));
  const minio = await startMinio();
  try {
    const archive = await storeGameArchive(minio, directory, megabytes);
    const agent: number[] = [];
    const peer: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      agent.push(await seconds(() => copyByAgent(minio, archive, directory)));
      peer.push(await seconds(() => copyByPeer(minio, archive, directory)));
    }
    const [agentSeconds, peerSeconds] = [median(agent), median(peer)];
    return {
      unpackedBytes: archive.unpackedSizeBytes,
      packedBytes: archive.sizeBytes,
      agentSeconds,
      peerSeconds,
      ratio: peerSeconds / agentSeconds,
    };
  } finally {
    await minio.remove();
    await rm(directory, { recursive: true, force: true });
  }
}

/**
 * Stores an archive like a game's: 400 files, half of whose bytes are incompressible. Creates the files in
 * `directory`.
 */
export async function storeGameArchive(
  { client, bucket }: TestMinio,
  directory: string,
  megabytes: number,
): Promise<Archive> {
  const tree = join(directory, "tree");
  const files = 400;
  const fileBytes = Math.floor((megabytes * 2 ** 20) / files);
  const text = Buffer.alloc(
    fileBytes / 2,
    "A line of a game's script, which says nearly the same again and again. ",
  );
  await mkdir(tree);
  for (let index = 0; index < files; index += 1) {
    const folder = join(tree, `folder${index % 20}`);
    await mkdir(folder, { recursive: true });
    const file = await open(join(folder, `file${index}.bin`), "w");
    await file.write(randomBytes(fileBytes - text.length));
    await file.write(text);
    await file.close();
  }
  const path = join(directory, "archive.tar.gz");
  await run("tar", ["-C", tree, "-czf", path, "."]);
  await rm(tree, { recursive: true });
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  const { size } = await stat(path);
  await client.fPutObject(bucket, "archive.tar.gz", path);
  await rm(path);
  return {
    bucket,
    key: "archive.tar.gz",
    sha256: hash.digest("hex"),
    sizeBytes: size,
    unpackedSizeBytes: files * fileBytes,
  };
}

async function copyByAgent(minio: TestMinio, source: Archive, directory: string): Promise<void> {
  const paths = nodePaths(join(directory, "node"));
  const files = createObjectFiles(
    paths,
    new TreeRemover({ trash: paths.trash, clock: systemClock, random: Math.random, logger: silentLogger }),
  );
  await files.load();
  const store = createObjectStore(minio);
  await fetchContent({
    objectStore: store,
    files,
    source,
    attempt: 1,
    clock: systemClock,
    random: Math.random,
    signal: new AbortController().signal,
    throttle: { pass: () => Promise.resolve() },
    onProgress: () => undefined,
    onWritten: () => undefined,
    onResume: () => undefined,
    readDiskSpace: () => readDiskSpace(directory),
  });
  store.close();
  await removeCopy(join(directory, "node"));
}

async function copyByPeer({ client }: TestMinio, { bucket, key }: Archive, directory: string): Promise<void> {
  const target = join(directory, "peer");
  await mkdir(target);
  const url = await client.presignedGetObject(bucket, key);
  await run("sh", ["-c", 'curl -sSf "$1" | tar -C "$2" -xz', "sh", url, target]);
  await removeCopy(target);
}

let clearing = 0;

/** Removes the copy, which is not measured. */
async function removeCopy(path: string): Promise<void> {
  const startedMs = performance.now();
  await rm(path, { recursive: true });
  clearing += performance.now() - startedMs;
}

async function seconds(work: () => Promise<void>): Promise<number> {
  clearing = 0;
  const startedMs = performance.now();
  await work();
  return (performance.now() - startedMs - clearing) / 1000;
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { megabytes: { type: "string", default: "512" }, rounds: { type: "string", default: "3" } },
  });
  const result = await measureNodeCopy({
    megabytes: Number(values.megabytes),
    rounds: Number(values.rounds),
  });
  const speed = (seconds: number): string =>
    `${seconds.toFixed(2)} s (${Math.round(result.unpackedBytes / 1e6 / seconds)} MB/s)`;
  console.log(
    `node copy of ${Math.round(result.unpackedBytes / 2 ** 20)} MiB: agent ${speed(result.agentSeconds)}, ` +
      `curl | tar xz ${speed(result.peerSeconds)}: ${result.ratio.toFixed(2)} times as fast`,
  );
}
