import { systemClock } from "#runtime/scheduling/clock.ts";
import { createLogger } from "#runtime/program/createLogger.ts";
import { onStopSignal, onUnhandledError, orExit } from "#runtime/program/program.ts";
import { readConfig } from "./config.ts";
import { startStreamer, type EndReason } from "./streamer.ts";

const config = orExit(() => readConfig(process.env));
const logger = createLogger({ program: "streamer", level: config.logLevel });

const streamer = startStreamer({
  config,
  logger,
  clock: systemClock,
  onStopped: (reason: EndReason) => process.exit(reason === "stopped" ? 0 : 1),
});

onStopSignal(() => void streamer.stop("stopped"));
onUnhandledError((error) => {
  logger.fatal({ err: error }, "The streamer stops after an unhandled error.");
  void streamer.stop("failed");
});
