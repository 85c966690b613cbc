import { fork, type ChildProcess } from "node:child_process";
import type { VideoCodec } from "#contracts/videoCodec.ts";
import type { Logger } from "#runtime/logger.ts";
import { childFlags } from "../processes/childFlags.ts";
import { buildProbePipeline, candidateEncoders, type Encoder, type Picture } from "./encoders.ts";
import type { ProbeCommand, ProbeReport } from "./messages.ts";

/**
 * A working encoder needs well under a second. A driver that hangs would never end, so its time is short. A software encoder does not hang, but may
 * start on a machine that is very busy; if it were given up, the session would have a worse encoder, or none, for good.
 */
const probeDeadlineMs = { gpu: 3_000, software: 20_000 };

export interface ProbeOptions {
  codecs: readonly VideoCodec[];
  profile: "gpu" | "software";
  picture: Picture;
  env: Record<string, string>;
  log: Logger;
}

/** Returns for each codec the first encoder that works here, found by encoding with it; codecs without one are omitted. */
export async function probeEncoders({ codecs, profile, picture, env, log }: ProbeOptions): Promise<Map<VideoCodec, Encoder>> {
  const found = new Map<VideoCodec, Encoder>();
  let child: ChildProcess | undefined;
  for (const encoder of candidateEncoders(codecs, profile)) {
    if (found.has(encoder.codec)) continue;
    child ??= fork(new URL("./probeChild.ts", import.meta.url), { env, execArgv: childFlags });
    const { works, message } = await tryEncoder(child, { pipeline: buildProbePipeline(encoder, picture) }, probeDeadlineMs[encoder.needsGpu ? "gpu" : "software"]);
    log.info({ encoder: encoder.name, works, reason: message || undefined }, "An encoder was tried.");
    if (works) {
      found.set(encoder.codec, encoder);
    } else if (!child.connected) {
      child = undefined; // The encoder crashed or hung: the next one gets a new process.
    }
  }
  child?.disconnect();
  return found;
}

function tryEncoder(child: ChildProcess, command: ProbeCommand, deadlineMs: number): Promise<ProbeReport> {
  return new Promise((resolve) => {
    const settle = (report: ProbeReport) => {
      clearTimeout(deadline);
      child.removeAllListeners("message").removeAllListeners("exit");
      resolve(report);
    };
    const deadline = setTimeout(() => {
      child.kill("SIGKILL");
      if (child.connected) child.disconnect();
      settle({ works: false, message: `did not encode within ${deadlineMs} ms` });
    }, deadlineMs);
    child.once("message", (report: ProbeReport) => settle(report));
    child.once("exit", (code, signal) => settle({ works: false, message: `the probe ended with ${code ?? signal ?? "nothing"}` }));
    child.send(command, (error) => {
      if (error) settle({ works: false, message: error.message });
    });
  });
}
