import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/**
 * Releases about 50 MB that only the start needed: loading all modules leaves V8's young generation at its
 * full size for as long as the process is active. It grows again on demand. Blocks the process for about 60
 * ms, so call it before serving.
 */
export function compactHeap(): void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as NodeJS.GCFunction;
  collect({ type: "major", execution: "sync", flavor: "last-resort" });
}
