import { fork, type ChildProcess } from "node:child_process";
import type { VideoCodec } from "#contracts/videoCodec.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Logger } from "#runtime/logger.ts";
import { childFlags } from "../processes.ts";
import {
  buildProbePipeline,
  candidateEncoders,
  emptyProbePipeline,
  kindOf,
  type Encoder,
  type EncoderEnvironments,
  type Picture,
} from "./encoders.ts";
import type { ProbeCommand, ProbeReport } from "./messages.ts";

/**
 * A working encoder needs well under a second. A driver that hangs would never end, so its time is short, and
 * an offer waits for that of both. A software encoder does not hang, but may start on a machine that is very
 * busy; if it were given up, the session would have a worse encoder, or none, for good.
 */
const probeDeadlineMs = { gpu: 3_000, software: 20_000 };
/**
 * GStreamer finds out what encoders there are by initialising each driver with every GPU that it sees, which
 * takes seconds where nothing else keeps a GPU ready. It waits for one that hangs, and remembers nothing
 * until all are done. The API makes an offer again for twenty seconds: this and the trials of two drivers
 * that hang are over by then.
 */
const registryDeadlineMs = 10_000;

export interface ProbeOptions {
  codecs: readonly VideoCodec[];
  profile: "gpu" | "software";
  picture: Picture;
  env: EncoderEnvironments;
  logger: Logger;
  clock: Pick<Clock, "setTimer">;
}

/** How a pipeline did. */
type Trial = ProbeReport & { hasHung?: true };

/**
 * Returns for each codec the first encoder that works here, found by encoding with it; codecs without one are
 * omitted. Where the drivers cannot even be initialised, only encoders in software are tried, by a process
 * that loads no driver.
 */
export async function probeEncoders({
  codecs,
  profile,
  picture,
  env,
  logger,
  clock,
}: ProbeOptions): Promise<Map<VideoCodec, Encoder>> {
  const found = new Map<VideoCodec, Encoder>();
  const hung = new Set<Encoder["driver"]>();
  const children = new Map<keyof EncoderEnvironments, ChildProcess>();
  const run = (kind: keyof EncoderEnvironments, pipeline: string, deadlineMs: number): Promise<Trial> => {
    const running = children.get(kind);
    // One that crashed or hung is replaced.
    const child =
      running && isAlive(running)
        ? running
        : fork(new URL("./probeChild.ts", import.meta.url), { env: env[kind], execArgv: childFlags });
    children.set(kind, child);
    return tryPipeline(child, { pipeline }, deadlineMs, clock);
  };
  let candidates = candidateEncoders(codecs, profile);
  if (profile === "gpu") {
    const { works, message } = await run("gpu", emptyProbePipeline, registryDeadlineMs);
    logger.info({ works, reason: message || undefined }, "GStreamer looked for the encoders of GPUs.");
    if (!works) candidates = candidateEncoders(codecs, "software");
  }
  for (const encoder of candidates) {
    const { name, codec, driver } = encoder;
    if (found.has(codec) || hung.has(driver)) continue;
    const kind = kindOf(encoder);
    const { works, message, hasHung } = await run(
      kind,
      buildProbePipeline(encoder, picture),
      probeDeadlineMs[kind],
    );
    logger.info({ encoder: name, works, reason: message || undefined }, "An encoder was tried.");
    if (hasHung && driver) hung.add(driver);
    if (works) found.set(codec, encoder);
  }
  for (const child of children.values()) {
    if (child.connected) child.disconnect();
  }
  return found;
}

function isAlive({ connected, exitCode, signalCode }: ChildProcess): boolean {
  return connected && exitCode === null && signalCode === null;
}

function tryPipeline(
  child: ChildProcess,
  command: ProbeCommand,
  deadlineMs: number,
  clock: ProbeOptions["clock"],
): Promise<Trial> {
  return new Promise((resolve) => {
    const settle = (trial: Trial) => {
      deadline.cancel();
      child.removeAllListeners("message").removeAllListeners("exit");
      resolve(trial);
    };
    const deadline = clock.setTimer(deadlineMs, () => {
      child.kill("SIGKILL");
      if (child.connected) child.disconnect();
      settle({ works: false, message: `did not work within ${deadlineMs} ms`, hasHung: true });
    });
    child.once("message", (report: ProbeReport) => settle(report));
    child.once("exit", (code, signal) =>
      settle({ works: false, message: `the probe ended with ${code ?? signal ?? "nothing"}` }),
    );
    child.send(command, (error) => {
      if (error) settle({ works: false, message: error.message });
    });
  });
}
