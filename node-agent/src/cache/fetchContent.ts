import { ArchiveRefused, acceptedArchiveRules, type ArchiveRules } from "#archive/archiveRules.ts";
import type { ArchiveSource } from "#contracts/crd/gameCache.ts";
import { contentReasons } from "#contracts/crd/gameSessionReasons.ts";
import { messageOf } from "#runtime/errors.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Logger } from "#runtime/logger.ts";
import type { Download, Downloads } from "./downloads.ts";
import type { WantedVersions } from "./wantedVersions.ts";
import { isDiskFull } from "../disk/files.ts";
import {
  ChecksumMismatch,
  isObjectStoreUnreachable,
  type ObjectStore,
  ObjectStoreError,
} from "../objectStore/objectStore.ts";
import { readObject } from "../objectStore/readObject.ts";
import type { TreeStyle } from "../unpack/treeWriter.ts";
import { unpackArchive, UnverifiedArchive } from "../unpack/unpack.ts";
import type { Failure } from "./failedVersions.ts";
import type { Draft, Manifest, ObjectFiles } from "./objectFiles.ts";
import { type DiskSpace, lacksFiles } from "./space.ts";

/** Options of one attempt. */
interface FetchOptions {
  objectStore: ObjectStore;
  files: ObjectFiles;
  source: ArchiveSource;
  attempt: number;
  throttle: Throttle;
  clock: Clock;
  random: () => number;
  signal: AbortSignal;
  onProgress: (percent: number) => void;
  /** Called with the size of each piece that has been unpacked and written. */
  onWritten: (bytes: number) => void;
  onResume: (offset: number) => void;
  readDiskSpace: () => Promise<DiskSpace>;
}

/** A failed attempt. `failure` holds the cause. */
export class FetchFailed extends Error {
  readonly failure: Failure;

  constructor(failure: Failure, cause: unknown) {
    super(failure.message, { cause });
    this.name = "FetchFailed";
    this.failure = failure;
  }
}

/** Returns why an attempt failed. */
export function failureOf(error: unknown): Failure {
  return error instanceof FetchFailed
    ? error.failure
    : {
        reason: contentReasons.downloadFailed,
        message: messageOf(error),
        etag: undefined,
        isFinal: false,
      };
}

/** Dependencies shared by all attempts on a node. */
interface FetcherOptions extends Pick<
  FetchOptions,
  "files" | "objectStore" | "readDiskSpace" | "clock" | "random"
> {
  downloads: Pick<Downloads, "list">;
  wants: Pick<WantedVersions, "desired">;
  /** Returns whether a session is on the node. */
  isPlayed: () => boolean;
  /** Rate limit of a fill while a session is on the node. 0 means that only the policy's limit applies. */
  fillBytesPerSecond: number;
  /** Aborts all attempts. */
  stopping: AbortSignal;
  onProgress: (download: Download) => void;
  metrics: { resumed(): void };
  logger: Logger;
}

/** Returns the function that runs one download attempt at its permitted rate. */
export function createFetcher(
  options: FetcherOptions,
): (download: Download, source: ArchiveSource) => Promise<Manifest> {
  const { files, objectStore, readDiskSpace, clock, random, stopping, metrics, logger } = options;
  let attempt = 0;
  return (download, source) => {
    attempt += 1;
    return fetchContent({
      files,
      objectStore,
      readDiskSpace,
      source,
      clock,
      random,
      attempt,
      throttle: createThrottle(clock, () => bytesPerSecondFor(download, options)),
      signal: AbortSignal.any([stopping, download.abandoning.signal]),
      onProgress: (percent) => {
        if (percent <= download.progressPercent) return;
        download.progressPercent = Math.min(percent, 100);
        options.onProgress(download);
      },
      onWritten: (bytes) => void (download.writtenBytes += bytes),
      onResume: (offset) => {
        metrics.resumed();
        logger.info({ digest: download.digest, offset }, "An interrupted download resumes.");
      },
    });
  };
}

/**
 * Returns the rate limit of a download. Undefined means no limit and 0 a pause. Launches are not limited. A
 * fill pauses while a launch downloads, and is limited while a game is played. Content is unpacked and
 * written as it arrives, so the rate also limits CPU and disk use.
 */
function bytesPerSecondFor(
  { digest, isForLaunch }: Download,
  { downloads, wants, isPlayed, fillBytesPerSecond }: FetcherOptions,
): number | undefined {
  if (isForLaunch) return undefined;
  if (downloads.list().some((other) => other.isForLaunch)) return 0;
  const rates = [wants.desired(digest)?.bytesPerSecond ?? 0, isPlayed() ? fillBytesPerSecond : 0].filter(
    (rate) => rate > 0,
  );
  return rates.length === 0 ? undefined : Math.min(...rates);
}

/** Readable by everybody, writable by nobody. */
const readOnly: TreeStyle = { fileMode: 0o444, executableMode: 0o555, directoryMode: 0o555 };

/**
 * Downloads, verifies and publishes one version. Returns its manifest. Leaves nothing behind on failure.
 *
 * @throws FetchFailed, or the abort reason
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
    // Measured before the written files and their inodes are removed.
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
 * The node has reserved the size declared at the upload, so anything larger is refused even if the limits
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

/** Limits a stream to a rate that may change at any time. */
interface Throttle {
  /** Resolves when `bytes` more may pass. */
  pass(bytes: number, signal: AbortSignal): Promise<void>;
}

/** Maximum delay until a changed rate takes effect. */
const sliceMs = 100;

/**
 * Returns a throttle. `rate` returns bytes per second: undefined for no limit, 0 for a pause. Bursts are
 * limited to one second's worth.
 */
export function createThrottle(clock: Clock, rate: () => number | undefined): Throttle {
  let allowance = 0;
  let lastMs = clock.monotonicMs();

  function refill(perSecond: number): void {
    const now = clock.monotonicMs();
    allowance = Math.min(perSecond, allowance + ((now - lastMs) / 1000) * perSecond);
    lastMs = now;
  }

  return {
    async pass(bytes, signal) {
      for (;;) {
        const perSecond = rate();
        if (perSecond === undefined) return;
        refill(perSecond);
        // A piece may make the allowance negative. Later pieces then wait until it is positive again.
        if (perSecond > 0 && allowance > 0) {
          allowance -= bytes;
          return;
        }
        await clock.sleep(sliceMs, signal);
      }
    },
  };
}
