import { fork } from "node:child_process";
import type { Logger } from "#runtime/logger.ts";
import { buildStillPipeline } from "../media/pipelines.ts";
import { childFlags } from "../processes.ts";
import { soundSink } from "../sound/soundServer.ts";
import type { Measured } from "./meters.ts";
import {
  buildWatchedPicture,
  buildWatchedSound,
  type WatchCommand,
  type WatchReport,
} from "./watchMessages.ts";

interface WatchOptions {
  display: string;
  soundServer: string;
  env: Record<string, string>;
  logger: Logger;
  onMeasured: (measured: Measured) => void;
  onStill: (jpeg: Buffer) => void;
}

/** A process that watches display and sound. */
export interface Watch {
  /** Requests a small picture of the display. */
  takeStill(): void;
  close(): void;
}

/** Starts watching. If the process fails, nothing more is reported. */
export function watchDisplayAndSound({
  display,
  soundServer,
  env,
  logger,
  onMeasured,
  onStill,
}: WatchOptions): Watch {
  const child = fork(new URL("./watchChild.ts", import.meta.url), {
    env,
    serialization: "advanced",
    execArgv: childFlags,
  });
  let isClosed = false;
  child.on("message", (report: WatchReport) => {
    if (report.type === "still") onStill(Buffer.from(report.jpeg));
    else onMeasured(report);
  });
  child.on("error", (error) => logger.error({ err: error }, "Display and sound cannot be watched."));
  child.on("exit", (exitCode) => {
    if (!isClosed) logger.error({ exitCode }, "The process that watches display and sound has ended.");
  });
  const send = (command: WatchCommand) => {
    if (child.connected) child.send(command, () => undefined);
  };
  send({
    type: "watch",
    picture: buildWatchedPicture(display),
    sound: buildWatchedSound(soundServer, soundSink),
  });
  return {
    takeStill: () => send({ type: "still", pipeline: buildStillPipeline(display) }),
    close() {
      isClosed = true;
      child.kill("SIGKILL");
    },
  };
}
