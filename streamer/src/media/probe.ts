import { fork, type ChildProcess } from "node:child_process";
import type { VideoCodec } from "#contracts/videoCodec.ts";
import type { Clock } from "#runtime/clock.ts";
import type { Logger } from "#runtime/logger.ts";
import { childFlags } from "../processes/childFlags.ts";
import { buildProbePipeline, candidateEncoders, type Encoder, type Picture } from "./encoders.ts";
import type { ProbeCommand, ProbeReport } from "./messages.ts";

/**
 * A working encoder needs well under a second. A driver that hangs would never end, so its time is short, and an offer waits for that of both. A software
 * encoder does not hang, but may start on a machine that is very busy; if it were given up, the session would have a worse encoder, or none, for good.
 */
const probeDeadlineMs = { gpu: 3_000, software: 20_000 };

export interface ProbeOptions {
  codecs: readonly VideoCodec[];
  profile: "gpu" | "software";
  picture: Picture;
  env: Record<string, string>;
  log: Logger;
  clock: Pick<Clock, "setTimer">;
}

/** How an encoder did. */
type Trial = ProbeReport & { hasHung?: true };

/** Returns for each codec the first encoder that works here, found by encoding with it; codecs without one are omitted. */
export async function probeEncoders({ codecs, profile, picture, env, log, clock }: ProbeOptions): Promise<Map<VideoCodec, Encoder>> {
  const found = new Map<VideoCodec, Encoder>();
  const hung = new Set<Encoder["driver"]>();
  let child: ChildProcess | undefined;
  for (const encoder of candidateEncoders(codecs, profile)) {
    const { name, codec, driver } = encoder;
    if (found.has(codec) || hung.has(driver)) continue;
    child ??= fork(new URL("./probeChild.ts", import.meta.url), { env, execArgv: childFlags });
    const { works, message, hasHung } = await tryEncoder(child, { pipeline: buildProbePipeline(encoder, picture) }, probeDeadlineMs[driver ? "gpu" : "software"], clock);
    log.info({ encoder: name, works, reason: message || undefined }, "An encoder was tried.");
    if (hasHung && driver) hung.add(driver);
    if (works) {
      found.set(codec, encoder);
    } else if (!child.connected) {
      child = undefined; // The encoder crashed or hung: the next one gets a new process.
    }
  }
  child?.disconnect();
  return found;
}

function tryEncoder(child: ChildProcess, command: ProbeCommand, deadlineMs: number, clock: ProbeOptions["clock"]): Promise<Trial> {
  return new Promise((resolve) => {
    const settle = (trial: Trial) => {
      deadline.cancel();
      child.removeAllListeners("message").removeAllListeners("exit");
      resolve(trial);
    };
    const deadline = clock.setTimer(deadlineMs, () => {
      child.kill("SIGKILL");
      if (child.connected) child.disconnect();
      settle({ works: false, message: `did not encode within ${deadlineMs} ms`, hasHung: true });
    });
    child.once("message", (report: ProbeReport) => settle(report));
    child.once("exit", (code, signal) => settle({ works: false, message: `the probe ended with ${code ?? signal ?? "nothing"}` }));
    child.send(command, (error) => {
      if (error) settle({ works: false, message: error.message });
    });
  });
}
