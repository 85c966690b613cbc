import { z } from "zod";
import type { PackedArchive } from "../pack/packArchive.ts";
import { PublishError } from "../publishError.ts";
import { parseResponse, sendOnce, type PartnerApi } from "../server/partnerApi.ts";
import { Upload } from "../server/responses.ts";
import { withRetries, type RetryContext } from "../server/retry.ts";
import { isTemporary, ServerError } from "../server/serverError.ts";
import type { UploadWish } from "./putArchive.ts";
import type { UploadState } from "./uploadState.ts";

/** The state of an upload on the server. */
const ResumableUpload = z.object({
  /** `receiving`, `checking`, `done` or `refused`. */
  state: z.string(),
  result: Upload.optional(),
  error: z.object({ error: z.string(), message: z.string() }).optional(),
});
type ResumableUpload = z.infer<typeof ResumableUpload>;

/** What a resumable upload needs besides the archive. */
export interface ResumableContext {
  api: PartnerApi;
  state: UploadState;
  retry: RetryContext;
  /** Largest body in bytes. Proxies limit it. */
  chunkBytes: number;
  onProgress: (sentBytes: number) => void;
  /** Called when the server has all bytes and inspects them. */
  onChecking: () => void;
}

const protocol = { "tus-resumable": "1.0.0" } as const;
/** Attempts without progress. */
const attempts = 8;
/** Interval between reads of the state, which grows: small archives are inspected at once. */
const poll = { firstMs: 250, maxMs: 3000 };
/** The longest time that the inspection of an archive may take. */
const checkMaxMs = 30 * 60_000;
/** An old server has no address for resumable uploads. */
const unsupported: ReadonlySet<number> = new Set([404, 405, 501]);

/**
 * Uploads the archive in chunks by tus 1.0, and continues the upload that `state` remembers. Returns
 * undefined if the server does not support it.
 *
 * @throws PublishError
 */
export async function uploadInChunks(
  context: ResumableContext,
  archive: PackedArchive,
  wish: UploadWish,
): Promise<Upload | undefined> {
  const { api, state, onProgress } = context;
  const text = JSON.stringify(wish);
  const kept = state.findUpload(text);
  if (kept?.isSame === false) await endUpload(api, kept.path);
  const known = kept?.isSame === true ? kept.path : undefined;
  let offset = known === undefined ? undefined : await findOffset(context, known);
  const path = known !== undefined && offset !== undefined ? known : await create(context, archive, wish);
  if (path === undefined) return undefined;
  await state.keepUpload({ path, wish: text });
  offset ??= 0;
  onProgress(offset);
  while (offset < archive.size) {
    offset = await sendChunk(context, archive, path, offset);
    onProgress(offset);
  }
  return awaitResult(context, archive, path);
}

/** Tells the server that nobody continues an upload, whose bytes it need not keep. */
export async function endUpload(api: PartnerApi, path: string): Promise<void> {
  try {
    await sendOnce(api.http, { method: "DELETE", path, headers: protocol });
  } catch (error) {
    // The server removes it after a while.
    if (!(error instanceof PublishError)) throw error;
  }
}

/** Returns the path of a new upload; undefined if the server has none. */
async function create(
  { api }: ResumableContext,
  archive: PackedArchive,
  wish: UploadWish,
): Promise<string | undefined> {
  const metadata = Object.entries(wish)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name} ${Buffer.from(String(value)).toString("base64")}`);
  const headers = {
    ...protocol,
    "upload-length": String(archive.size),
    ...(metadata.length === 0 ? {} : { "upload-metadata": metadata.join(",") }),
  };
  try {
    const response = await api.send({ method: "POST", path: `${api.path}/uploads`, headers });
    const location = response.header("location");
    if (location === undefined) throw new ServerError(response);
    return pathOf(api, location);
  } catch (error) {
    if (error instanceof ServerError && unsupported.has(error.status)) return undefined;
    throw error;
  }
}

/**
 * Returns the upload's path below the server's address. The server may know itself by another name, but the
 * key goes only to the address that the person named.
 */
function pathOf({ http, path }: PartnerApi, location: string): string {
  const { pathname } = new URL(location, http.address);
  const start = pathname.indexOf(`${path}/uploads/`);
  if (start >= 0) return pathname.slice(start);
  throw new PublishError("unexpected_response", "The server names an unexpected address for the upload.");
}

/** Returns the number of bytes that the server has; undefined if the upload has expired. */
async function findOffset({ api }: ResumableContext, path: string): Promise<number | undefined> {
  try {
    const { header } = await api.send({ method: "HEAD", path, headers: protocol });
    return offsetOf(header("upload-offset"));
  } catch (error) {
    if (error instanceof ServerError && [404, 410].includes(error.status)) return undefined;
    throw error;
  }
}

function offsetOf(text: string | undefined): number {
  if (text !== undefined && /^\d{1,15}$/.test(text)) return Number(text);
  throw new PublishError("unexpected_response", "The server does not say how much of the upload it has.");
}

/** Sends the chunk at `offset`, and returns the offset of the next one. */
function sendChunk(
  context: ResumableContext,
  archive: PackedArchive,
  path: string,
  offset: number,
): Promise<number> {
  return withRetries(context.retry, attempts, async () => {
    try {
      return await patch(context, archive, path, offset);
    } catch (error) {
      const isOtherOffset = error instanceof ServerError && error.status === 409;
      if (!isOtherOffset && !isTemporary(error)) throw error;
      // The server keeps what has arrived of a broken chunk.
      const reached = await findOffset(context, path);
      if (reached === undefined) throw expired(error);
      if (reached > offset) return reached;
      throw error;
    }
  });
}

async function patch(
  { api, chunkBytes, onProgress }: ResumableContext,
  { file, size }: PackedArchive,
  path: string,
  offset: number,
): Promise<number> {
  const end = Math.min(size, offset + chunkBytes);
  const { header } = await sendOnce(api.http, {
    method: "PATCH",
    path,
    headers: {
      ...protocol,
      "content-type": "application/offset+octet-stream",
      "upload-offset": String(offset),
    },
    body: { file, start: offset, bytes: end - offset, onProgress: (sent) => onProgress(offset + sent) },
  });
  return offsetOf(header("upload-offset"));
}

/** Waits until the server has inspected the archive. */
async function awaitResult(
  { api, retry, state, onChecking }: ResumableContext,
  archive: PackedArchive,
  path: string,
): Promise<Upload> {
  onChecking();
  const endMs = retry.clock.monotonicMs() + checkMaxMs;
  for (
    let waitMs = poll.firstMs;
    retry.clock.monotonicMs() < endMs;
    waitMs = Math.min(poll.maxMs, 2 * waitMs)
  ) {
    const { state: reached, result, error } = await readUpload(api, path);
    if (reached === "refused") {
      await state.forgetUpload();
      throw new PublishError(error?.error ?? "refused", error?.message ?? "The server refused the archive.");
    }
    if (reached === "done" && result !== undefined) {
      if (result.checksum === `sha256:${archive.sha256}`) return result;
      throw new PublishError("checksum_mismatch", "The archive was damaged on its way. Publish again.");
    }
    await retry.clock.sleep(waitMs, retry.signal);
  }
  throw new PublishError("timeout", "The server still inspects the archive. Run the command again later.");
}

async function readUpload(api: PartnerApi, path: string): Promise<ResumableUpload> {
  return parseResponse(ResumableUpload, await api.send({ method: "GET", path, headers: protocol }));
}

function expired(cause: unknown): PublishError {
  return new PublishError("expired", "The upload has expired on the server. Publish again.", { cause });
}
