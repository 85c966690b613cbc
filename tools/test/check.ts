import { spawn, type ChildProcess } from "node:child_process";
import { appendFileSync, closeSync, mkdirSync, openSync, readFileSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { z } from "zod";

/**
 * Result of a check: its counts, the tests that failed, those that passed on retry, and its slowest tests and
 * hooks, slowest first.
 */
export interface CheckResult {
  name: string;
  passed: number;
  failed: number;
  /** The check could not run, for a reason that is not the project's fault. It counts as neither. */
  skipped: boolean;
  seconds: number;
  failures: Failure[];
  unstable: Failure[];
  slowest: Timing[];
}

export interface Failure {
  title: string;
  reason: string;
}

interface Timing {
  title: string;
  seconds: number;
}

export interface CheckOptions {
  name: string;
  command: [string, ...string[]];
  timeoutMinutes: number;
  env?: NodeJS.ProcessEnv;
  /** File that the output is appended to. Without it, the output goes to the terminal. */
  logFile?: string;
  /** Whether exit code 75 (EX_TEMPFAIL) means that the check was skipped. */
  canSkip?: boolean;
}

/** Options of a mocha run. */
export interface TestsOptions extends CheckOptions {
  /** File that tools/test/reporter.ts writes the counts to. */
  summaryFile: string;
  /** File for the JUnit report. The report of a retry goes next to it, to `….retry.xml`. */
  junitFile: string;
  retries: RetryBudget;
}

/** Counts the failed tests that a run may still retry, over all its tiers. */
export class RetryBudget {
  #left: number;

  constructor(tests: number) {
    this.#left = tests;
  }

  /** Takes that many retries and returns true, or takes none and returns false if fewer are left. */
  take(tests: number): boolean {
    if (tests > this.#left) return false;
    this.#left -= tests;
    return true;
  }
}

const Summary = z.object({
  passed: z.int(),
  failed: z.int(),
  ended: z.boolean(),
  failures: z.array(z.object({ title: z.string(), reason: z.string() })),
  slowest: z.array(z.object({ title: z.string(), seconds: z.number() })),
});
const running = new Set<ChildProcess>();

/** EX_TEMPFAIL of sysexits.h. */
const skippedCode = 75;

/** Runs a command that counts as one test. */
export async function runCheck(options: CheckOptions): Promise<CheckResult> {
  const { code, seconds } = await run(options);
  const skipped = options.canSkip === true && code === skippedCode;
  const failures =
    code === 0 || skipped
      ? []
      : [{ title: "(the whole check)", reason: `${options.command.join(" ")} exited with code ${code}.` }];
  return {
    name: options.name,
    passed: code === 0 ? 1 : 0,
    failed: failures.length,
    skipped,
    seconds,
    failures,
    unstable: [],
    slowest: [],
  };
}

/**
 * Runs mocha and counts its tests. A run that crashes or finds no tests counts as one more failure. If the
 * retry budget covers all failed tests, they are run once more, without the others. Tests that pass on retry
 * count as passed and are listed as unstable: they point to a race that needs a fix.
 */
export async function runTests(options: TestsOptions): Promise<CheckResult> {
  const { crashed, ...first } = await runMocha({
    ...options,
    env: { ...options.env, JOYPOD_TRACES: "no" },
  });
  if (crashed || first.failed === 0 || !options.retries.take(first.failed)) return first;
  say(options, `\n== ${options.name}: retrying ${first.failed} failed test(s)\n`);
  const [program, ...args] = options.command;
  const retry = await runMocha({
    ...options,
    command: [program, ...args, "--grep", `^(${first.failures.map(retryPattern).join("|")})`],
    summaryFile: `${options.summaryFile}.retry`,
    junitFile: options.junitFile.replace(/\.xml$/, ".retry.xml"),
  });
  const seconds = first.seconds + retry.seconds;
  if (retry.failed > 0) return { ...first, seconds };
  return {
    ...first,
    seconds,
    passed: first.passed + first.failed,
    failed: 0,
    failures: [],
    unstable: first.failures,
  };
}

async function runMocha(options: TestsOptions): Promise<CheckResult & { crashed: boolean }> {
  const { name, summaryFile, junitFile } = options;
  for (const file of [summaryFile, junitFile]) {
    mkdirSync(dirname(file), { recursive: true });
    rmSync(file, { force: true });
  }
  const { code, seconds } = await run({
    ...options,
    env: { ...options.env, SUMMARY_FILE: summaryFile, JUNIT_FILE: junitFile },
  });
  const { passed, failed, ended, failures, slowest } = readSummary(summaryFile);
  const crashed = !ended || passed + failed === 0 || (code !== 0 && failed === 0);
  if (crashed)
    failures.push({
      title: "(the whole check)",
      reason: `The tests did not run to completion (exit code ${code}).`,
    });
  return {
    name,
    passed,
    failed: failed + (crashed ? 1 : 0),
    skipped: false,
    seconds,
    failures,
    unstable: [],
    slowest,
    crashed,
  };
}

/** Prints a line to the check's output. */
function say({ logFile }: CheckOptions, line: string): void {
  if (logFile === undefined) process.stdout.write(line);
  else appendFileSync(logFile, line);
}

/** Matches the title of the failed test, or of all tests in the suite whose hook failed. */
function retryPattern({ title }: Failure): string {
  const suite = title.replace(/ "(before|after) (all|each)" hook.*/, "");
  return suite === title ? `${escapeRegExp(title)}$` : escapeRegExp(suite);
}

function escapeRegExp(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
}

/** Kills all running checks and their child processes. */
export function endRunningChecks(): void {
  for (const child of running) kill(child, "SIGKILL");
}

async function run({
  command: [program, ...args],
  timeoutMinutes,
  env,
  logFile,
}: CheckOptions): Promise<{ code: number; seconds: number }> {
  const started = performance.now();
  const log = logFile === undefined ? undefined : openSync(logFile, "a");
  // A separate process group, so that a check that times out is killed with all its children.
  const child = spawn(program, args, {
    stdio: ["ignore", log ?? "inherit", log ?? "inherit"],
    env: { ...process.env, ...env },
    detached: true,
  });
  if (log !== undefined) closeSync(log);
  running.add(child);
  const deadline = setTimeout(() => {
    console.error(
      `${program} ${args.join(" ")} did not finish within ${timeoutMinutes} minutes and was killed.`,
    );
    kill(child, "SIGKILL");
  }, timeoutMinutes * 60_000);
  const code = await new Promise<number>((resolve) => {
    child.once("error", (error) => {
      console.error(`${program} could not be started: ${error.message}`);
      resolve(1);
    });
    child.once("exit", (exitCode) => resolve(exitCode ?? 1));
  });
  clearTimeout(deadline);
  running.delete(child);
  return { code, seconds: Math.round((performance.now() - started) / 1000) };
}

function kill(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // It has already exited.
  }
}

function readSummary(file: string): z.infer<typeof Summary> {
  try {
    return Summary.parse(JSON.parse(readFileSync(file, "utf8")));
  } catch {
    return { passed: 0, failed: 0, ended: false, failures: [], slowest: [] };
  }
}
