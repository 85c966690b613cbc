// What the chart runs before it is removed: see drainRelease.
import { systemClock } from "#runtime/clock.ts";
import { createLogger } from "#runtime/createLogger.ts";
import { orExit } from "#runtime/program.ts";
import { KubeTransport } from "#kube/transport.ts";
import { readConfig } from "./config.ts";
import { drainRelease } from "./drainRelease.ts";

const config = orExit(() => readConfig(process.env));
const logger = createLogger({ program: "drain", level: "info" });
const transport = KubeTransport.fromDefault({ userAgent: "joypod-drain" });
try {
  await drainRelease({ transport, config, clock: systemClock, logger });
} catch (error) {
  logger.error({ err: error }, "The release could not be drained.");
  process.exitCode = 1;
} finally {
  await transport.close();
}
