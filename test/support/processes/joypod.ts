import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { joypodProgram } from "./controlPlaneProgram.ts";

/** Output of a finished command. */
export interface JoypodOutcome {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs `joypod` in its own process with these variables only. */
export async function runJoypod(
  args: readonly string[],
  { stdin = "", env = {} }: { stdin?: string; env?: Record<string, string | undefined> } = {},
): Promise<JoypodOutcome> {
  const [program = "", ...first] = joypodProgram();
  const child = spawn(program, [...first, ...args], { env: { PATH: process.env.PATH, ...env } });
  // A command that reads no input may have ended.
  child.stdin.on("error", () => undefined).end(stdin);
  const closed = new Promise<number | null>((resolve, reject) =>
    child.once("error", reject).once("close", resolve),
  );
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
  return { code, stdout, stderr };
}
