import { createHash, type Hash, timingSafeEqual } from "node:crypto";
import { UploadQuery } from "#contracts/http/gameVersions.ts";
import { tus } from "#contracts/http/resumableUploads.ts";
import { limits } from "#contracts/limits.ts";
import { invalidRequest } from "../../errors.ts";
import type { AppContext } from "../../http/appContext.ts";
import { HttpError, unsupportedEncoding, unsupportedMediaType } from "../../http/httpError.ts";

/**
 * Refuses another version of the protocol. A request without the header passes, because it can mean only one
 * version.
 *
 * @throws precondition_failed
 */
export function requireTusVersion(ctx: AppContext): void {
  const version = ctx.req.headers["tus-resumable"];
  if (version === undefined || version === tus.version) return;
  throw new HttpError("precondition_failed", {
    message: `This service speaks version ${tus.version} of the tus protocol.`,
    headers: { "Tus-Version": tus.version },
  });
}

/**
 * Returns a header that is a number of bytes.
 *
 * @throws invalid_request
 */
export function bytesOf(ctx: AppContext, name: "Upload-Length" | "Upload-Offset"): number {
  const text = ctx.get(name);
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw invalidRequest(`The header ${name} must be a number of bytes.`);
}

/**
 * Checks the media type of a chunk.
 *
 * @throws unsupported_media_type
 */
export function requireChunkType(ctx: AppContext): void {
  const [type = ""] = ctx.get("Content-Type").split(";", 1);
  if (type.trim().toLowerCase() !== tus.chunkType) throw unsupportedMediaType([tus.chunkType]);
  if (ctx.req.headers["content-encoding"] !== undefined) throw unsupportedEncoding([tus.chunkType]);
}

/** Compares a chunk with its announced digest as it streams through. */
export class ChunkCheck {
  readonly #hash: Hash;
  readonly #expected: Buffer;

  constructor(algorithm: string, expected: Buffer) {
    this.#hash = createHash(algorithm);
    this.#expected = expected;
  }

  update(bytes: Buffer): void {
    this.#hash.update(bytes);
  }

  /** Throws chunk_mismatch when the chunk differs. */
  finish(): void {
    if (timingSafeEqual(this.#hash.digest(), this.#expected)) return;
    throw new HttpError("chunk_mismatch", {
      message: "The chunk does not match its Upload-Checksum. Send it again.",
    });
  }
}

const digestBytes: Readonly<Record<string, number>> = { sha1: 20, sha256: 32 };

/**
 * Returns the check that `Upload-Checksum` asks for; undefined without the header.
 *
 * @throws invalid_request
 */
export function chunkCheckOf(ctx: AppContext): ChunkCheck | undefined {
  if (ctx.req.headers["upload-checksum"] === undefined) return undefined;
  const [, algorithm = "", base64 = ""] =
    /^(\w+) ([A-Za-z0-9+/]+={0,2})$/.exec(ctx.get("Upload-Checksum")) ?? [];
  const expected = Buffer.from(base64, "base64");
  if (!Object.hasOwn(digestBytes, algorithm) || expected.length !== digestBytes[algorithm])
    throw invalidRequest(
      `Upload-Checksum must be ${tus.checksumAlgorithms.join(" or ")}, a space, and the digest in base64.`,
    );
  return new ChunkCheck(algorithm, expected);
}

/** Names in the metadata that clients add and that say nothing about the version. */
const ignoredNames: ReadonlySet<string> = new Set(["filename", "filetype"]);
const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Returns what `Upload-Metadata` says about the version, with the rules of the query of an upload in one
 * piece.
 *
 * @throws invalid_request
 */
export function parseUploadMetadata(metadata: string): UploadQuery {
  if (metadata.length > limits.partner.uploadMetadataMaxLength)
    throw invalidRequest(
      `Upload-Metadata may have at most ${limits.partner.uploadMetadataMaxLength} characters.`,
    );
  const values = new Map<string, string>();
  for (const pair of metadata === "" ? [] : metadata.split(",")) {
    const [, name, base64 = ""] = /^\s*([!-+\--~]+)(?: ([A-Za-z0-9+/]*={0,2}))?\s*$/.exec(pair) ?? [];
    if (name === undefined)
      throw invalidRequest("Upload-Metadata must be pairs of a name and a value in base64.");
    if (values.has(name)) throw invalidRequest(`Upload-Metadata has ${JSON.stringify(name)} more than once.`);
    values.set(name, textOf(name, base64));
  }
  const named = [...values].filter(([name]) => !ignoredNames.has(name));
  const parsed = UploadQuery.safeParse(Object.fromEntries(named));
  if (parsed.success) return parsed.data;
  const details = parsed.error.issues.map(({ path, message }) => ({ path: path.join("."), message }));
  const texts = details.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
  throw invalidRequest(`Upload-Metadata is not valid. ${texts.join("; ")}`, details);
}

function textOf(name: string, base64: string): string {
  try {
    return utf8.decode(Buffer.from(base64, "base64"));
  } catch {
    throw invalidRequest(`The value of ${JSON.stringify(name)} in Upload-Metadata is not UTF-8.`);
  }
}
