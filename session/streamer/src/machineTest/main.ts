// Run by hand in the streamer's image, without a cluster: reports in Markdown which displays, renderers and
// encoders work on this machine (docs/gpu.md). The log goes to stderr.
import { createLogger } from "#runtime/program/createLogger.ts";
import { orExit } from "#runtime/program/program.ts";
import { readPictureConfig } from "../config.ts";
import { checkMachine } from "./checkMachine.ts";
import { buildReport } from "./report.ts";

const config = orExit(() => readPictureConfig(process.env));
const log: string[] = [];
const logger = createLogger({
  program: "machine-test",
  level: config.logLevel,
  destination: {
    write(line) {
      log.push(line.trimEnd());
      process.stderr.write(line);
    },
  },
});
const findings = await checkMachine(config, logger);
process.stdout.write(buildReport(findings, log));
process.exitCode = findings.session?.obstacle === undefined && findings.session ? 0 : 1;
