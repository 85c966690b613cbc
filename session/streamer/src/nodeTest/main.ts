// What `helm test` runs on each game node, in a pod without a session: leaves what it finds of the picture as
// the pod's termination message.
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
  logger.error({ err: error }, "What makes the picture could not be found out.");
  writeFileSync(config.terminationLog, messageOf(error));
  process.exitCode = 1;
}
