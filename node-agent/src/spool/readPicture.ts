import { isSavePicture } from "#archive/savePicture.ts";
import { limits } from "#contracts/limits.ts";
import { openSpoolFile } from "./readSpool.ts";

const { bytes: bytesMax } = limits.save.picture;

/**
 * Returns the picture of a pack; undefined if there is none, or if the file is anything but a small JPEG.
 *
 * @throws SpoolUnreadable for a path that can never be opened as a file, or a transient error
 */
export async function readPicture(path: string): Promise<Buffer | undefined> {
  const file = await openSpoolFile(path);
  if (file === undefined) return undefined;
  try {
    const stat = await file.stat();
    if (!stat.isFile() || stat.size > bytesMax) return undefined;
    // The owner of the folder can keep writing to the file: what is stored are the bytes that were checked.
    const { buffer, bytesRead } = await file.read(Buffer.alloc(bytesMax), 0, bytesMax, 0);
    const picture = buffer.subarray(0, bytesRead);
    return isSavePicture(picture) ? picture : undefined;
  } finally {
    await file.close();
  }
}
