import { open, readFile } from "node:fs/promises";
import { z } from "zod";
import { sha256Hex } from "#contracts/crd/schema.ts";
import { isAbsent } from "../disk/absent.ts";

/**
 * What the agent keeps beside an unpacked archive; its presence in a published directory means that all of it
 * is there.
 */
export const Manifest = z.object({
  version: z.literal(1),
  digest: sha256Hex,
  packedBytes: z.int().min(0),
  unpackedBytes: z.int().min(0),
  entries: z.int().min(0),
  cachedAt: z.iso.datetime(),
});
export type Manifest = z.infer<typeof Manifest>;

/** Writes the manifest through to the disk. */
export async function writeManifest(path: string, manifest: Manifest): Promise<void> {
  const handle = await open(path, "wx", 0o644);
  try {
    await handle.writeFile(`${JSON.stringify(manifest)}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Returns the manifest; undefined when it is missing or not one: the directory beside it is then not to be
 * trusted. Throws when the disk does not tell.
 */
export async function readManifest(path: string): Promise<Manifest | undefined> {
  try {
    return Manifest.safeParse(JSON.parse(await readFile(path, "utf8"))).data;
  } catch (error) {
    // One that was cut off is no JSON.
    if (error instanceof SyntaxError || isAbsent(error)) return undefined;
    throw error;
  }
}
