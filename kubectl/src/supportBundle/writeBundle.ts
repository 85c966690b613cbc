import { writeFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import { packTar } from "modern-tar";
import { AdminError } from "../adminError.ts";
import type { BundleFile } from "./collect.ts";
import { messageOf } from "#runtime/errors.ts";

/**
 * Writes the files as a tar.gz whose entries stand in one folder. Throws AdminError when the file is there
 * already, or cannot be written.
 */
export async function writeBundle(
  path: string,
  folder: string,
  files: readonly BundleFile[],
  now: Date,
): Promise<void> {
  const tar = await packTar(
    files.map(({ name, content }) => {
      const body = Buffer.from(content);
      return {
        header: {
          name: `${folder}/${name}`,
          size: body.length,
          type: "file" as const,
          mode: 0o600,
          mtime: now,
        },
        body,
      };
    }),
  );
  try {
    // Nobody else on this machine needs to read it.
    await writeFile(path, gzipSync(tar), { mode: 0o600, flag: "wx" });
  } catch (cause) {
    throw new AdminError(
      `${path} cannot be written (${messageOf(cause)}): name another file with --output-file.`,
      undefined,
      { cause },
    );
  }
}
