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
let picture: Buffer | undefined;
process.on("message", (command: PackerCommand) => {
  if (command.t === "ended") ended.abort();
  // Newer streamers may send other commands.
  else if (command.t === "picture") picture = Buffer.from(command.jpeg, "base64"); // oxlint-disable-line typescript/no-unnecessary-condition
});
// The parent is gone, so the container is ending. The next run packs again.
process.on("disconnect", () => process.exit(0));

const report = (message: PackerReport, done?: () => void): void => {
  if (process.connected) process.send?.(message, undefined, {}, done);
  else done?.();
};

try {
  await runPacker({ config, logger, ended: ended.signal, report, picture: () => picture });
  report({ t: "done" }, () => process.exit(0));
} catch (error) {
  logger.fatal({ err: error }, "The packer failed.");
  process.exit(1);
}
