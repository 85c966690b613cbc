import { constants } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import type { z } from "zod";
import { spoolFileBytes, spoolNames } from "#contracts/nodeLayout.ts";
import { RestoreReport, SpoolManifest } from "#contracts/spool.ts";
import { systemErrorCode } from "#runtime/errors.ts";

/** What the packer has said in a session's folder. */
export interface Spool {
  report?: RestoreReport;
  manifest?: SpoolManifest;
}

/** A file in the packer's folder is not what the packer writes, or is lost. */
export class SpoolUnreadable extends Error {
  constructor(what: string, cause?: unknown, saying = "The packer's folder holds what no packer writes") {
    super(`${saying}: ${what}.`, { cause });
    this.name = "SpoolUnreadable";
  }
}

/**
 * The reader follows no link, and opens nothing that can block: the folder belongs to the user that games run
 * as.
 */
const openUntrusted = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

/**
 * Reads what the packer has said of this session; files of another session of the name count as absent.
 * Throws SpoolUnreadable.
 */
export async function readSpool(sessionFolder: string, uid: string): Promise<Spool> {
  const [report, manifest] = await Promise.all([
    // A launch does not wait for the report to reach the disk, so that a loss of power may leave an empty
    // file. The report was written all the same, so a game may have run.
    readWord(`${sessionFolder}/${spoolNames.report}`, RestoreReport, uid, { version: 1, uid }),
    readWord(`${sessionFolder}/${spoolNames.manifest}`, SpoolManifest, uid),
  ]);
  return { ...(report && { report }), ...(manifest && { manifest }) };
}

/** An empty file is read as `whenEmpty`, where that is something. */
async function readWord<T extends { uid: string }>(
  path: string,
  schema: z.ZodType<T>,
  uid: string,
  whenEmpty?: T,
): Promise<T | undefined> {
  const text = await readBounded(path);
  if (text === undefined) return undefined;
  if (text === "" && whenEmpty !== undefined) return whenEmpty;
  const parsed = schema.safeParse(parseJson(text, path));
  if (!parsed.success) throw new SpoolUnreadable(`${path} is not as its schema says`, parsed.error);
  return parsed.data.uid === uid ? parsed.data : undefined;
}

/** Returns the text of a small regular file; undefined when it is not there. */
async function readBounded(path: string): Promise<string | undefined> {
  const file = await openSpoolFile(path);
  if (file === undefined) return undefined;
  try {
    const stat = await file.stat();
    if (!stat.isFile() || stat.size > spoolFileBytes)
      throw new SpoolUnreadable(`${path} is no file of at most ${spoolFileBytes} bytes`);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(spoolFileBytes), 0, spoolFileBytes, 0);
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await file.close();
  }
}

/**
 * What a system says of a path that is not to be opened, whoever asks and whenever: a link, a socket, a
 * folder.
 */
const untrustedCodes: ReadonlySet<string> = new Set(["ELOOP", "ENXIO", "EACCES", "ENOTDIR", "EISDIR"]);

/**
 * Opens a file of the packer's folder to be read, whatever it is; returns undefined when it is not there.
 * Throws SpoolUnreadable, or what passes: a disk that fails once, or too many open files, must not cost a
 * session its last save.
 */
export async function openSpoolFile(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, openUntrusted);
  } catch (error) {
    const code = systemErrorCode(error) ?? "";
    if (code === "ENOENT") return undefined;
    if (!untrustedCodes.has(code)) throw error;
    throw new SpoolUnreadable(`${path} cannot be opened`, error);
  }
}

function parseJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new SpoolUnreadable(`${path} is not JSON`, error);
  }
}
