import { execFile } from "node:child_process";
import type { Clock } from "#runtime/scheduling/clock.ts";

/** A driver that hangs would never end. */
const probeDeadlineMs = 4_000;
const maxOutputBytes = 65_536;
const program = "displayprobe";

/** What a step of session/display found: its lines by name, and why it failed. */
export interface ProbeFindings {
  values: ReadonlyMap<string, string>;
  /** Undefined when the step worked. */
  failure: string | undefined;
}

/** What a step of the probe runs with. */
export interface ProbeSurroundings {
  env: Record<string, string>;
  clock: Pick<Clock, "setTimer">;
}

/** Runs one step of the display's probe in a process of its own, because a driver may crash or hang it. */
export function probeDisplay(
  args: readonly string[],
  { env, clock }: ProbeSurroundings,
): Promise<ProbeFindings> {
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
              : stderr.trim() || `${program} ended with ${String(error.code ?? error.signal)}`,
        });
      },
    );
    child.stdout?.on("data", (chunk: string) => {
      printed += chunk;
    });
    const deadline = clock.setTimer(probeDeadlineMs, () => {
      // Nobody waits for its end: in the kernel, where drivers hang too, a process cannot be killed.
      child.kill("SIGKILL");
      resolve({
        values: parseFindings(printed),
        failure: `${program} did not end within ${probeDeadlineMs} ms`,
      });
    });
  });
}

/** Returns the values of lines `name value`. */
export function parseFindings(text: string): Map<string, string> {
  return new Map(
    text.split("\n").flatMap((line) => {
      const space = line.indexOf(" ");
      return space > 0 ? [[line.slice(0, space), line.slice(space + 1).trim()] as const] : [];
    }),
  );
}
