/** Packs a folder once, as the last pack of its session, and ends: for saves that lie on the node's disk. */
import { parsePackOnceConfig } from "./config.ts";
import { createLogger } from "./log.ts";
import { createSavePacker } from "./pack/savePacker.ts";
import { openSpool } from "./spool/spool.ts";

const { saveDirectory, spool: directory, uid } = parsePackOnceConfig(process.env);
const log = createLogger();

process.umask(0o077);
const spool = await openSpool(directory, uid);
await createSavePacker({ saveDirectory, spool, log }).finish();
