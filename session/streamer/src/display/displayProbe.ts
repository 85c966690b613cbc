import { execFile } from "node:child_process";
import type { Clock } from "#runtime/scheduling/clock.ts";

/** Bounds a driver that hangs. */
const probeDeadlineMs = 4_000;
const maxOutputBytes = 65_536;
const program = "displayprobe";

/** Output of one step of the probe in session/display: its lines by name, and why it failed. */
export interface ProbeFindings {
  values: ReadonlyMap<string, string>;
  /** Undefined when the step succeeded. */
  failure: string | undefined;
}

/** Environment and clock of a probe step. */
export interface ProbeContext {
  env: Record<string, string>;
  clock: Pick<Clock, "setTimer">;
}

/** Runs one step of the display probe in a separate process, because a driver may crash or hang it. */
export function probeDisplay(args: readonly string[], { env, clock }: ProbeContext): Promise<ProbeFindings> {
  return new Promise((resolve) => {
    let printed = "";
    const child = execFile(
      program,
      [...args],
      { env, killSignal: "SIGKILL", maxBuffer: maxOutputBytes },
      (error, stdout, stderr) => {
        deadline.cancel();
        resolve({
          values: parseFindings(stdout),
          failure:
            error === null
              ? undefined
              : stderr.trim() || `${program} exited with ${String(error.code ?? error.signal)}`,
        });
      },
    );
    child.stdout?.on("data", (chunk: string) => {
      printed += chunk;
    });
    const deadline = clock.setTimer(probeDeadlineMs, () => {
      // Do not wait for the process to end: one that hangs in the kernel, as drivers do, cannot be killed.
      child.kill("SIGKILL");
      resolve({
        values: parseFindings(printed),
        failure: `${program} did not end within ${probeDeadlineMs} ms`,
      });
    });
  });
}

/** Returns the values of lines of the form `name value`. */
export function parseFindings(text: string): Map<string, string> {
  return new Map(
    text.split("\n").flatMap((line) => {
      const space = line.indexOf(" ");
      return space > 0 ? [[line.slice(0, space), line.slice(space + 1).trim()] as const] : [];
    }),
  );
}
