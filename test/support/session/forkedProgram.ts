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
  let tail = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    process.stderr.write(text);
    tail = (tail + text).slice(-tailLength);
  });
  // Unlike "exit", "close" comes after the last byte of standard error.
  const ended = once(child, "close").then(([code, signal]: (number | string | null)[]) => {
    const how = code === null ? `was ended by ${String(signal)}` : `exited with ${String(code)}`;
    return tail.trim() === "" ? how : `${how}:\n${tail.trim()}`;
  });
  return { process: child, ended };
}
