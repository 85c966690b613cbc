import { createLogger } from "#runtime/program/createLogger.ts";
import { onStopSignal, onUnhandledError, orExit } from "#runtime/program/program.ts";
import { readConfig } from "./config.ts";
import { startStreamer, type EndReason } from "./streamer.ts";

const config = orExit(() => readConfig(process.env));
const log = createLogger({ program: "streamer", level: config.logLevel });

const streamer = startStreamer({
  config,
  log,
  now: () => performance.now(),
  onStopped: (reason: EndReason) => process.exit(reason === "stopped" ? 0 : 1),
});

onStopSignal(() => void streamer.stop("stopped"));
onUnhandledError((error) => {
  log.fatal({ err: error }, "The streamer stops after an error that nothing handles.");
  void streamer.stop("failed");
});
