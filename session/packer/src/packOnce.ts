/**
 * Packs a folder once, as the last pack of its session, and exits. Used for saves that are on the node's
 * disk.
 */
import { createLogger } from "#runtime/program/createLogger.ts";
import { orExit } from "#runtime/program/program.ts";
import { readPackOnceConfig } from "./config.ts";
import { createSavePacker } from "./pack/savePacker.ts";
import { openSpool } from "./spool/spool.ts";

const config = orExit(() => readPackOnceConfig(process.env));
const logger = createLogger({ program: "packer", level: "info" });

process.umask(0o077);
// Not awaited: in a bundle, modules that are loaded later wait for this one to finish.
packOnce().catch((error: unknown) => {
  logger.fatal({ err: error }, "The folder could not be packed.");
  process.exitCode = 1;
});

async function packOnce(): Promise<void> {
  const { saveDirectory, spool: directory, uid } = config;
  const spool = await openSpool(directory, uid);
  await createSavePacker({ saveDirectory, spool, logger }).finish();
}
