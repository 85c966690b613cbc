// Run by `helm test` on each game node, in a pod without a session. Reports what it finds about display and
// encoders as the pod's termination message.
import { writeFileSync } from "node:fs";
import { createLogger } from "#runtime/program/createLogger.ts";
import { orExit } from "#runtime/program/program.ts";
import { readPictureConfig } from "../config.ts";
import { findPicture } from "./findPicture.ts";
import { messageOf } from "#runtime/errors.ts";

const config = orExit(() => readPictureConfig(process.env));
const logger = createLogger({ program: "node-test", level: config.logLevel });
try {
  writeFileSync(config.terminationLog, JSON.stringify(await findPicture(config, logger)));
} catch (error) {
  logger.error({ err: error }, "Display and encoders could not be probed.");
  writeFileSync(config.terminationLog, messageOf(error));
  process.exitCode = 1;
}
