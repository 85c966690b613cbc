import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";

/** Characters of standard error that the description of an end repeats. */
const tailLength = 4_000;

/** A forked program, and how it ended. */
export interface ForkedProgram {
  process: ChildProcess;
  /** Resolves at its end with its exit code or signal and the end of its standard error. */
  ended: Promise<string>;
}

/** Forks a program that reports by messages. What it writes to standard error also appears on this one's. */
export function forkProgram(program: URL, args: readonly string[]): ForkedProgram {
  const child = fork(program, args, { stdio: ["ignore", "inherit", "pipe", "ipc"] });
  const { stderr } = child;
  if (stderr === null) throw new Error("The program has no standard error.");
  let tail = "";
  stderr.setEncoding("utf8").on("data", (text: string) => {
    process.stderr.write(text);
    tail = (tail + text).slice(-tailLength);
  });
  // The event "close" of the process would say both, but never comes after a disconnect.
  const ended = Promise.all([once(child, "exit"), once(stderr, "end")]).then(([[code, signal]]) => {
    const how = code === null ? `was ended by ${String(signal)}` : `exited with ${String(code)}`;
    return tail.trim() === "" ? how : `${how}:\n${tail.trim()}`;
  });
  return { process: child, ended };
}
