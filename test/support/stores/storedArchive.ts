import { createHash } from "node:crypto";
import type { ArchiveSource } from "#contracts/crd/gameCache.ts";
import type { TestMinio } from "./minio.ts";

/** Stores an archive in the test's object store, and returns its reference as in a GameCache. */
export async function storeArchive(
  { client, bucket }: TestMinio,
  packed: Buffer,
  {
    key,
    unpackedSizeBytes = 2 ** 24,
    sha256 = sha256Of(packed),
  }: {
    key?: string;
    unpackedSizeBytes?: number;
    sha256?: string;
  } = {},
): Promise<ArchiveSource> {
  const source = {
    bucket,
    key: key ?? `archives/${sha256}.tar.gz`,
    sha256,
    sizeBytes: packed.length,
    unpackedSizeBytes,
  };
  await client.putObject(bucket, source.key, packed, packed.length);
  return source;
}

export function sha256Of(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}
