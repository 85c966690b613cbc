import { constants } from "node:fs";
import { open } from "node:fs/promises";

/** Makes a directory's own entries durable. */
export async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
