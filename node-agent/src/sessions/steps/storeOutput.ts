import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { gameOutputBytes, sessionObservationsBytes, spoolNames } from "#contracts/nodeLayout.ts";
import { runObservationsKey, runOutputKey } from "#contracts/objectKeys.ts";
import { withDeadline } from "#runtime/scheduling/deadline.ts";
import { openSpoolFile } from "../../spool/readSpool.ts";
import type { RecordContext } from "./step.ts";

const compress = promisify(gzip);

/** Time for one attempt to store half a MiB. */
const storeMs = 10_000;

/** What is left of a session: files of its folder, at most this large, and their keys. */
const remains = [
  { name: spoolNames.output, bytesMax: gameOutputBytes, keyOf: runOutputKey },
  { name: spoolNames.observations, bytesMax: sessionObservationsBytes, keyOf: runObservationsKey },
] as const;

/**
 * Stores the end of the game's output, and what the session has observed if it verified a version, in the
 * object store. Best effort: a failure is logged, and the next pass tries again as long as the session has
 * its folder. Storing it twice is idempotent.
 */
export async function storeOutput({ deps, record, signal, logger }: RecordContext): Promise<void> {
  const { files, objectStore, bucket, clock, storedOutputs } = deps;
  const { gameSession, uid } = record;
  if (storedOutputs.has(uid)) return;
  try {
    for (const { name, bytesMax, keyOf } of remains) {
      const content = await readStart(`${files.folder(gameSession)}/${name}`, bytesMax);
      if (content === undefined) continue;
      const packed = await compress(content);
      const upload = {
        sizeBytes: packed.length,
        md5: createHash("md5").update(packed).digest("base64"),
        read: () => Readable.from([packed]),
      };
      const key = keyOf(gameSession);
      await withDeadline({ clock, ms: storeMs, what: `Storing ${key}`, signal }, (until) =>
        objectStore.put({ bucket, key }, upload, until),
      );
    }
    storedOutputs.add(uid);
  } catch (error) {
    signal.throwIfAborted();
    logger.warn({ err: error, gameSession }, "The output of a session's game could not be stored.");
  }
}

/** Returns at most this much of the file's start; undefined if it is missing, empty or not a file. */
async function readStart(path: string, bytesMax: number): Promise<Buffer | undefined> {
  const file = await openSpoolFile(path);
  if (file === undefined) return undefined;
  try {
    if (!(await file.stat()).isFile()) return undefined;
    const { buffer, bytesRead } = await file.read(Buffer.alloc(bytesMax), 0, bytesMax, 0);
    return bytesRead === 0 ? undefined : buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
