import { fork, type ChildProcess } from "node:child_process";
import type { VideoCodec } from "#contracts/videoCodec.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Logger } from "#runtime/logger.ts";
import { childFlags } from "../processes.ts";
import {
  buildProbePipeline,
  candidateEncoders,
  emptyProbePipeline,
  encoderKind,
  type Encoder,
  type EncoderEnvironments,
  type Picture,
} from "./encoders.ts";
import type { ProbeCommand, ProbeReport } from "./messages.ts";

/**
 * A working encoder needs well under a second. A driver that hangs never ends, so its deadline is short: an
 * offer waits for both drivers. A software encoder does not hang but may start slowly on a busy machine.
 * Giving it up would leave the session with a worse encoder, or none.
 */
const probeDeadlineMs = { gpu: 3_000, software: 20_000 };
/**
 * GStreamer discovers encoders by initialising each driver with every visible GPU, which takes seconds when
 * nothing else keeps the GPU ready. It waits for a driver that hangs, and caches nothing until all are done.
 * The API retries an offer for twenty seconds, which covers this and the trials of two drivers that hang.
 */
const registryDeadlineMs = 10_000;

export interface ProbeOptions {
  codecs: readonly VideoCodec[];
  profile: "gpu" | "software";
  picture: Picture;
  env: EncoderEnvironments;
  logger: Logger;
  clock: Pick<Clock, "setTimer">;
  /** Called with the result of each trial. */
  onTrial?: (trial: { encoder: string; works: boolean; reason: string }) => void;
}

/** Result of trying a pipeline. */
type Trial = ProbeReport & { hasHung?: true };

/**
 * Returns the first working encoder for each codec, found by encoding with it; codecs without one are
 * omitted. If the drivers cannot even be initialised, only software encoders are tried, in a process that
 * loads no driver.
 */
export async function probeEncoders({
  codecs,
  profile,
  picture,
  env,
  logger,
  clock,
  onTrial,
}: ProbeOptions): Promise<Map<VideoCodec, Encoder>> {
  const found = new Map<VideoCodec, Encoder>();
  const hung = new Set<Encoder["driver"]>();
  const children = new Map<keyof EncoderEnvironments, ChildProcess>();
  const run = (kind: keyof EncoderEnvironments, pipeline: string, deadlineMs: number): Promise<Trial> => {
    const running = children.get(kind);
    // A process that crashed or hung is replaced.
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
    logger.info({ works, reason: message || undefined }, "GStreamer initialised its GPU encoders.");
    if (!works) candidates = candidateEncoders(codecs, "software");
  }
  for (const encoder of candidates) {
    const { name, codec, driver } = encoder;
    if (found.has(codec) || hung.has(driver)) continue;
    const kind = encoderKind(encoder);
    const { works, message, hasHung } = await run(
      kind,
      buildProbePipeline(encoder, picture),
      probeDeadlineMs[kind],
    );
    logger.info({ encoder: name, works, reason: message || undefined }, "An encoder was tried.");
    onTrial?.({ encoder: name, works, reason: message });
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
      settle({ works: false, message: `the probe exited with ${code ?? signal ?? "nothing"}` }),
    );
    child.send(command, (error) => {
      if (error) settle({ works: false, message: error.message });
    });
  });
}
