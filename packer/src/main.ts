import type { PackerCommand, PackerReport } from "#contracts/packerMessages.ts";
import { parseConfig } from "./config.ts";
import { createLogger } from "./log.ts";
import { runPacker } from "./packer.ts";

const config = parseConfig(process.env);
const log = createLogger();
const ended = new AbortController();

process.umask(0o077);
for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => ended.abort());
process.on("message", ({ t }: PackerCommand) => {
  // The one command there is, but a later release's parent may know more.
  if (t === "ended") ended.abort(); // eslint-disable-line @typescript-eslint/no-unnecessary-condition
});
// Without its parent the container is ending, and the next life packs anew.
process.on("disconnect", () => process.exit(0));

const report = (message: PackerReport, done?: () => void): void => {
  if (process.connected) process.send?.(message, undefined, {}, done);
  else done?.();
};

try {
  await runPacker({ config, log, ended: ended.signal, report });
  report({ t: "done" }, () => process.exit(0));
} catch (error) {
  log.fatal({ err: error }, "The packer met an error that it cannot go on after.");
  process.exit(1);
}
