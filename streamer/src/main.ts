import { parseConfig } from "./config.ts";
import { createLogger } from "./log.ts";
import { startStreamer, type EndReason } from "./streamer.ts";

const config = parseConfig(process.env);
const log = createLogger(config.logLevel);

const streamer = startStreamer({
  config,
  log,
  now: () => performance.now(),
  onStopped: (reason: EndReason) => process.exit(reason === "stopped" ? 0 : 1),
});

for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => void streamer.stop("stopped"));
for (const event of ["uncaughtException", "unhandledRejection"] as const) {
  process.on(event, (error: unknown) => {
    log.fatal({ err: error }, "The streamer stops after an error that nothing handles.");
    void streamer.stop("failed");
  });
}
