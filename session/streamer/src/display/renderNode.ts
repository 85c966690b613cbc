import { readdirSync } from "node:fs";

/** Returns the device file of the container's first GPU that renders; undefined without one. */
export function findRenderNode(folder = "/dev/dri"): string | undefined {
  try {
    const first = readdirSync(folder)
      .filter((name) => /^renderD\d+$/.test(name))
      .sort()[0];
    return first && `${folder}/${first}`;
  } catch {
    return undefined; // No driver, or none that the container was given.
  }
}
