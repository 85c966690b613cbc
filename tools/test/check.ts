import { spawn, type ChildProcess } from "node:child_process";
import { appendFileSync, closeSync, mkdirSync, openSync, readFileSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { z } from "zod";

/**
 * How a check ended, with the tests that failed, those that failed and then passed, and its slowest tests and
 * hooks, the slowest first.
 */
export interface CheckResult {
  name: string;
  passed: number;
  failed: number;
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
  /** Where the output is appended instead of going to the terminal. */
  logFile?: string;
}

/** A check that is a run of mocha, which writes down here what came of it. */
export interface TestsOptions extends CheckOptions {
  summaryFile: string;
}

const Summary = z.object({
  passed: z.int(),
  failed: z.int(),
  ended: z.boolean(),
  failures: z.array(z.object({ title: z.string(), reason: z.string() })),
  slowest: z.array(z.object({ title: z.string(), seconds: z.number() })),
});
const running = new Set<ChildProcess>();

/** More failures than this are no accident of a busy machine. */
const retriedAtMost = 2;

/** A command that counts as one test. */
export async function runCheck(options: CheckOptions): Promise<CheckResult> {
  const { code, seconds } = await run(options);
  const failures =
    code === 0
      ? []
      : [{ title: "(the whole check)", reason: `${options.command.join(" ")} ended with ${code}.` }];
  return {
    name: options.name,
    passed: code === 0 ? 1 : 0,
    failed: failures.length,
    seconds,
    failures,
    unstable: [],
    slowest: [],
  };
}

/**
 * A run of mocha: its tests count, and one more failure when it broke down or found nothing. One or two tests
 * that fail are run once more, without the others. If they pass then, they count as passed, and are told as
 * unstable: a race, in them or in what they test, that somebody has to mend.
 */
export async function runTests(options: TestsOptions): Promise<CheckResult> {
  const { brokeDown, ...first } = await runMocha({
    ...options,
    env: { ...options.env, JOYPOD_TRACES: "no" },
  });
  if (brokeDown || first.failed === 0 || first.failed > retriedAtMost) return first;
  say(options, `\n== ${options.name}: what failed, once more\n`);
  const [program, ...args] = options.command;
  const again = await runMocha({
    ...options,
    command: [
      program,
      ...args,
      "--grep",
      `^(${first.failures.map(({ title }) => inPattern(suiteOrTest(title))).join("|")})`,
    ],
    summaryFile: `${options.summaryFile}.again`,
  });
  const seconds = first.seconds + again.seconds;
  if (again.failed > 0) return { ...first, seconds };
  return {
    ...first,
    seconds,
    passed: first.passed + first.failed,
    failed: 0,
    failures: [],
    unstable: first.failures,
  };
}

async function runMocha(options: TestsOptions): Promise<CheckResult & { brokeDown: boolean }> {
  const { name, summaryFile } = options;
  mkdirSync(dirname(summaryFile), { recursive: true });
  rmSync(summaryFile, { force: true });
  const { code, seconds } = await run({ ...options, env: { ...options.env, SUMMARY_FILE: summaryFile } });
  const { passed, failed, ended, failures, slowest } = readSummary(summaryFile);
  const brokeDown = !ended || passed + failed === 0 || (code !== 0 && failed === 0);
  if (brokeDown)
    failures.push({
      title: "(the whole check)",
      reason: `The tests did not run to their end (code ${code}).`,
    });
  return {
    name,
    passed,
    failed: failed + (brokeDown ? 1 : 0),
    seconds,
    failures,
    unstable: [],
    slowest,
    brokeDown,
  };
}

/** Prints a line where the check's output goes. */
function say({ logFile }: CheckOptions, line: string): void {
  if (logFile === undefined) process.stdout.write(line);
  else appendFileSync(logFile, line);
}

/** Returns the test's title, or the suite's whose hook failed. */
function suiteOrTest(title: string): string {
  return title.replace(/ "(before|after) (all|each)" hook.*/, "");
}

function inPattern(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
}

/** Ends what is running, with everything that it started. */
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
  // A process group of its own, so that a check past its time ends with all its children.
  const child = spawn(program, args, {
    stdio: ["ignore", log ?? "inherit", log ?? "inherit"],
    env: { ...process.env, ...env },
    detached: true,
  });
  if (log !== undefined) closeSync(log);
  running.add(child);
  const deadline = setTimeout(() => {
    console.error(
      `${program} ${args.join(" ")} did not end within ${timeoutMinutes} minutes and was killed.`,
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
    // It ended on its own in the meantime.
  }
}

function readSummary(file: string): z.infer<typeof Summary> {
  try {
    return Summary.parse(JSON.parse(readFileSync(file, "utf8")));
  } catch {
    return { passed: 0, failed: 0, ended: false, failures: [], slowest: [] };
  }
}
