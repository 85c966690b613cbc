import { execFile } from "node:child_process";

/** A driver that hangs would never end. */
const probeDeadlineMs = 4_000;
const maxOutputBytes = 65_536;
const program = "displayprobe";

/** What a step of images/session/display found: its lines by name, and why it failed. */
export interface ProbeFindings {
  values: ReadonlyMap<string, string>;
  /** Undefined when the step worked. */
  failure: string | undefined;
}

/** Runs one step of the display's probe in a process of its own, because a driver may crash or hang it. */
export function probeDisplay(args: readonly string[], env: Record<string, string>): Promise<ProbeFindings> {
  return new Promise((resolve) => {
    execFile(program, [...args], { env, timeout: probeDeadlineMs, killSignal: "SIGKILL", maxBuffer: maxOutputBytes }, (error, stdout, stderr) => {
      resolve({ values: parseFindings(stdout), failure: error === null ? undefined : stderr.trim() || `${program} ended with ${String(error.code ?? error.signal)}` });
    });
  });
}

/** Returns the values of lines `name value`. */
export function parseFindings(text: string): Map<string, string> {
  return new Map(text.split("\n").flatMap((line) => {
    const space = line.indexOf(" ");
    return space > 0 ? [[line.slice(0, space), line.slice(space + 1).trim()] as const] : [];
  }));
}
