// Run by the chart before it is removed. See drainRelease.
import { systemClock } from "#runtime/scheduling/clock.ts";
import { createLogger } from "#runtime/program/createLogger.ts";
import { onStopSignal, orExit } from "#runtime/program/program.ts";
import { KubeTransport } from "#kube/client/transport.ts";
import { readConfig } from "./config.ts";
import { drainRelease, ScaledUpError } from "./drainRelease.ts";

const config = orExit(() => readConfig(process.env));
const logger = createLogger({ program: "drain", level: "info" });
const transport = KubeTransport.fromDefault({ userAgent: "joypod-drain" });
const stopping = new AbortController();
onStopSignal((signal) => stopping.abort(new Error(`The program received ${signal}.`)));
try {
  await drainRelease({ transport, config, clock: systemClock, logger, signal: stopping.signal });
} catch (error) {
  logger.error({ err: error }, "The release could not be drained.");
  process.exitCode = error instanceof ScaledUpError ? ScaledUpError.exitCode : 1;
} finally {
  await transport.close();
}
