import type { Readable } from "node:stream";
import { invalidRequest, DomainError } from "../errors.ts";
import type { AppContext } from "../http/appContext.ts";
import { continueBody } from "../http/body.ts";
import { HttpError, unsupportedEncoding, unsupportedMediaType } from "../http/httpError.ts";
import { MalformedDigest, parseDigests, type ExpectedDigests } from "./contentDigest.ts";
import type { Metrics, UploadKind } from "../metrics.ts";

/** The body of an upload, which the client has not yet been asked to send. */
export interface ArchiveBody {
  /**
   * Asks a client that waits for 100-continue to send the body. The request must stay open in any case,
   * because it still needs a response.
   */
  open(): Readable;
  expectedDigests: ExpectedDigests;
  /** The body's length, if the client announces it. */
  bytes?: number | undefined;
}

/** The body with whether the client has been asked to send it. */
export interface OpenableBody extends ArchiveBody {
  readonly isOpen: boolean;
}

/** Media types of an archive. */
export const archiveTypes: readonly string[] = ["application/gzip", "application/x-gzip"];

/** Checks the headers of an upload. Throws 400, 413 and 415 before the client has sent a byte. */
export function archiveBodyOf(ctx: AppContext, maxBytes: number): OpenableBody {
  const {
    "content-type": type = "",
    "content-encoding": encoding,
    "content-length": length,
    "content-range": range,
  } = ctx.req.headers;
  const [mediaType = ""] = type.split(";", 1);
  if (!archiveTypes.includes(mediaType.trim().toLowerCase())) throw unsupportedMediaType(archiveTypes);
  if (encoding !== undefined) throw unsupportedEncoding(archiveTypes);
  if (range !== undefined && !isWhole(range))
    throw invalidRequest("An upload cannot be resumed. Send the whole archive, without Content-Range.");
  const bytes = length === undefined ? undefined : Number(length);
  if (bytes !== undefined && bytes > maxBytes) throw archiveTooLarge(maxBytes);
  let isOpen = false;
  return {
    expectedDigests: expectedDigestsOf(ctx),
    bytes,
    get isOpen() {
      return isOpen;
    },
    open: () => {
      isOpen = true;
      continueBody(ctx);
      return ctx.req;
    },
  };
}

/** Returns a 413 that states the limit in the format of the draft on resumable uploads. */
export function archiveTooLarge(maxBytes: number): HttpError {
  return new HttpError("payload_too_large", {
    message: `An archive may have at most ${maxBytes} bytes.`,
    headers: { "Upload-Limit": `max-size=${maxBytes}` },
  });
}

/**
 * Returns whether a Content-Range covers the whole body. A partial body would otherwise be reported as
 * damaged.
 */
function isWhole(range: string): boolean {
  const [, last, bytes] = /^bytes 0-([0-9]+)\/([0-9]+)$/i.exec(range) ?? [];
  return bytes !== undefined && Number(last) + 1 === Number(bytes);
}

function expectedDigestsOf(ctx: AppContext): ExpectedDigests {
  const header = (name: string): string | undefined =>
    ctx.req.headers[name] === undefined ? undefined : ctx.get(name);
  try {
    return parseDigests(header("content-digest"), header("repr-digest"));
  } catch (error) {
    if (error instanceof MalformedDigest) throw invalidRequest(error.message);
    throw error;
  }
}

/**
 * Runs an upload and records its outcome and the size of the archive in the metrics. Returns or throws the
 * upload's result.
 */
export async function countUpload<T>(
  metrics: Pick<Metrics, "uploadDone">,
  kind: UploadKind,
  upload: () => Promise<T>,
  bytesOf: (stored: T) => number,
): Promise<T> {
  try {
    const stored = await upload();
    metrics.uploadDone(kind, "stored", bytesOf(stored));
    return stored;
  } catch (error) {
    const isOurs = !(error instanceof DomainError) || error.code === "unavailable";
    metrics.uploadDone(kind, isOurs ? "failed" : "refused");
    throw error;
  }
}
