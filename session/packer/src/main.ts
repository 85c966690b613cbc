import type { PackerCommand, PackerReport } from "#contracts/spool.ts";
import { createLogger } from "#runtime/program/createLogger.ts";
import { onStopSignal, orExit } from "#runtime/program/program.ts";
import { readConfig } from "./config.ts";
import { runPacker } from "./packer.ts";

const config = orExit(() => readConfig(process.env));
const logger = createLogger({ program: "packer", level: "info" });
const ended = new AbortController();

process.umask(0o077);
onStopSignal(() => ended.abort());
process.on("message", ({ t }: PackerCommand) => {
  // The only command today; newer streamers may send others.
  if (t === "ended") ended.abort(); // oxlint-disable-line typescript/no-unnecessary-condition
});
// The parent is gone, so the container is ending. The next run packs again.
process.on("disconnect", () => process.exit(0));

const report = (message: PackerReport, done?: () => void): void => {
  if (process.connected) process.send?.(message, undefined, {}, done);
  else done?.();
};

try {
  await runPacker({ config, logger, ended: ended.signal, report });
  report({ t: "done" }, () => process.exit(0));
} catch (error) {
  logger.fatal({ err: error }, "The packer failed.");
  process.exit(1);
}
