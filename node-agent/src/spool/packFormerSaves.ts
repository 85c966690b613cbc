import { spawn } from "node:child_process";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { makePackedFolder } from "./orderRestore.ts";

/**
 * Packs a folder of saves that a pod of the previous release left on the node, once, into the session's
 * packed folder.
 */
export type PackFormerSaves = (options: {
  saves: string;
  sessionFolder: string;
  uid: string;
  signal: AbortSignal;
}) => Promise<void>;

/** A save of the previous release had no bound but the packer's own. */
const deadlineMs = 5 * 60_000;
const memoryMb = 128;

/** Beside the agent's bundle, or in the packer's own folder where programs run from their source. */
const program =
  extname(import.meta.filename) === ".ts"
    ? fileURLToPath(new URL("../../../session/packer/src/packOnce.ts", import.meta.url))
    : fileURLToPath(new URL("packer.js", import.meta.url));

/**
 * Runs the packer as a niced child with bounded memory and time: the folder is a game's work. Throws when it
 * fails or takes too long.
 */
export const packFormerSaves: PackFormerSaves = async ({ saves, sessionFolder, uid, signal }) => {
  await makePackedFolder(sessionFolder);
  const child = spawn("nice", ["-n", "10", process.execPath, `--max-old-space-size=${memoryMb}`, program], {
    env: { SAVE_DIRECTORY: saves, SPOOL_DIR: sessionFolder, SESSION_UID: uid },
    stdio: ["ignore", "ignore", "pipe"],
    signal,
    timeout: deadlineMs,
    killSignal: "SIGKILL",
  });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-1000);
  });
  await new Promise<void>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code, killed) => {
      if (code === 0) resolve();
      else reject(new Error(`The packer ended with ${code ?? killed ?? "no word"}: ${said}`));
    });
  });
};
