import type { ArchiveSource } from "#contracts/crd/gameCache.ts";
import { contentReasons } from "#contracts/crd/reasons.ts";
import { ArchiveRefused } from "#archive/archiveRefused.ts";
import { acceptedArchiveRules, type ArchiveRules } from "#archive/archiveRules.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import { isDiskFull } from "../disk/diskFull.ts";
import type { TreeStyle } from "../unpack/treeWriter.ts";
import { UnverifiedArchive, unpackArchive } from "../unpack/unpack.ts";
import { ChecksumMismatch, isObjectStoreUnreachable, ObjectStoreError } from "../objectStore/errors.ts";
import type { ObjectStore } from "../objectStore/objectStore.ts";
import { readObject } from "../objectStore/readObject.ts";
import { lacksFiles, type DiskSpace } from "./space.ts";
import type { Throttle } from "./throttle.ts";
import type { Failure } from "./attempts.ts";
import type { Manifest } from "./manifest.ts";
import type { Draft, ObjectFiles } from "./objectFiles.ts";
import { messageOf } from "#runtime/errors.ts";

/** What one attempt works with. */
export interface FetchOptions {
  objectStore: ObjectStore;
  files: ObjectFiles;
  source: ArchiveSource;
  attempt: number;
  throttle: Throttle;
  clock: Clock;
  random: () => number;
  signal: AbortSignal;
  onProgress: (percent: number) => void;
  /** Told of each piece that has been unpacked and written. */
  onWritten: (bytes: number) => void;
  onResume: (offset: number) => void;
  readDiskSpace: () => Promise<DiskSpace>;
}

/** An attempt failed; `failure` says what is known about why. */
export class FetchFailed extends Error {
  readonly failure: Failure;

  constructor(failure: Failure, cause: unknown) {
    super(failure.message, { cause });
    this.name = "FetchFailed";
    this.failure = failure;
  }
}

/** Readable for everybody, writable for nobody. */
const readOnly: TreeStyle = { fileMode: 0o444, executableMode: 0o555, directoryMode: 0o555 };

/**
 * Downloads, checks and publishes one version; returns its manifest. Throws FetchFailed or the abort reason,
 * and then leaves nothing.
 */
export async function fetchContent(options: FetchOptions): Promise<Manifest> {
  const { files, source, clock, signal, readDiskSpace } = options;
  const { freeFiles } = await readDiskSpace();
  let etag: string | undefined;
  let draft: Draft | undefined;
  try {
    draft = await files.begin(source.sha256, options.attempt);
    const { unpackedBytes, entries, packedBytes } = await unpackArchive({
      source: throttled(options, (opened) => {
        etag = opened;
      }),
      packedTotal: source.sizeBytes,
      sha256: source.sha256,
      directory: draft.contentDirectory,
      rules: rulesFor(source),
      style: readOnly,
      onProgress: (bytes) => options.onProgress(Math.floor((bytes / Math.max(1, source.sizeBytes)) * 100)),
      onWritten: options.onWritten,
    });
    const manifest: Manifest = {
      version: 1,
      digest: source.sha256,
      packedBytes,
      unpackedBytes,
      entries,
      cachedAt: clock.now().toISOString(),
    };
    signal.throwIfAborted();
    await draft.publish(manifest);
    return manifest;
  } catch (error) {
    // Before what was written goes, and its inodes with it.
    const tooFewFiles =
      isDiskFull(error) && (await readDiskSpace().then(lacksFiles, () => false)) ? freeFiles : undefined;
    await draft?.discard();
    signal.throwIfAborted();
    throw new FetchFailed({ ...describeFailure(error, etag), tooFewFiles }, error);
  }
}

async function* throttled(
  { objectStore, source, throttle, clock, random, signal, onResume }: FetchOptions,
  onOpen: (etag: string) => void,
): AsyncGenerator<Buffer> {
  const location = { bucket: source.bucket, key: source.key };
  for await (const chunk of readObject({
    objectStore,
    location,
    sizeBytes: source.sizeBytes,
    clock,
    random,
    signal,
    onOpen,
    onResume,
  })) {
    await throttle.pass(chunk.length, signal);
    yield chunk;
  }
}

/**
 * The node has set aside what was declared at the upload, so more than that is refused even where the limits
 * would allow it.
 */
function rulesFor({ unpackedSizeBytes }: ArchiveSource): ArchiveRules {
  const { limits } = acceptedArchiveRules;
  const declared = Math.ceil(unpackedSizeBytes * 1.02);
  return {
    ...acceptedArchiveRules,
    limits: { ...limits, unpackedBytes: Math.min(limits.unpackedBytes, declared) },
  };
}

function describeFailure(error: unknown, etag: string | undefined): Failure {
  const message = messageOf(error);
  const failure = { message, etag, isFinal: false };
  if (error instanceof ChecksumMismatch) return { ...failure, reason: contentReasons.checksumMismatch };
  if (error instanceof ArchiveRefused)
    return { ...failure, reason: contentReasons.archiveRefused, isFinal: true };
  if (error instanceof UnverifiedArchive) return { ...failure, reason: contentReasons.archiveRefused };
  if (error instanceof ObjectStoreError && error.failure === "NotFound")
    return { ...failure, reason: contentReasons.sourceMissing };
  if (isObjectStoreUnreachable(error)) return { ...failure, reason: contentReasons.storeUnreachable };
  if (isDiskFull(error))
    return {
      ...failure,
      message: `The node's disk was full before the game was unpacked: ${message}`,
      reason: contentReasons.insufficientSpace,
      ranOut: true,
    };
  return { ...failure, reason: contentReasons.downloadFailed };
}
