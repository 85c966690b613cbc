// Runs every check and test of the project, lists the slowest and the failed ones, and ends with one line,
// `N passed, N failed`. A failed check does not stop the others. At most two failed tests of the whole run
// are retried; tests that pass on retry are listed as UNSTABLE. JUnit reports go to test-results/*.xml.
//
// The order is chosen for two processors. Sessions on the platform run without other tests beside them,
// because a busy machine fails them. What depends on the machine's speed is in `make bench`.
//
//   1. programs and images, and at the same time lint, types, short checks and unit tests
//   2. integration, two lanes at a time: api, cluster, web, session and delivery
//   3. players (pages that play, connection tests) and streamer (its other tests, devices, reconnects)
//   4. the platform on a cluster (JOYPOD_CLUSTER, default joypod-test) and end-to-end tests on it
//
// The cluster is created as late as possible, because an idle one takes a tenth of the machine, and removed
// at the end unless JOYPOD_KEEP is set. tools/test/long.sh runs the tests that take too long for this
// program. ONLY=checks,unit,integration,e2e limits the run to these parts.
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import PQueue from "p-queue";
import {
  endRunningChecks,
  RetryBudget,
  runCheck,
  runTests,
  type CheckOptions,
  type CheckResult,
  type Failure,
  type TestsOptions,
} from "./check.ts";

/** Lanes of integration tests that can share the machine with another one, longest first. */
const sharedLanes = [
  "integration:api",
  "integration:cluster",
  "integration:web",
  "integration:session",
  "integration:delivery",
] as const;
type Tier = "unit" | (typeof sharedLanes)[number] | "integration:players" | "integration:streamer" | "e2e";

const root = join(import.meta.dirname, "../..");
const results = join(root, "test-results");
const keep = (process.env["JOYPOD_KEEP"] ?? "") !== "";
const cluster = { JOYPOD_CLUSTER: process.env["JOYPOD_CLUSTER"] ?? "joypod-test" };

const parts = ["checks", "unit", "integration", "e2e"];
const only = process.env["ONLY"]?.split(",") ?? parts;
const unknown = only.find((part) => !parts.includes(part));
if (unknown !== undefined) {
  console.error(`ONLY names an unknown part, "${unknown}". The parts are ${parts.join(", ")}.`);
  process.exit(2);
}
const retries = new RetryBudget(2);

// Checks run in their own process groups, so they would survive this program.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.once(signal, () => {
    endRunningChecks();
    process.exit(130);
  });
}

mkdirSync(results, { recursive: true });
// Node's compile cache, shared by all checks.
process.env["NODE_COMPILE_CACHE"] ??= join(results, "compiled");
process.chdir(root);
const done: CheckResult[] = [];

const prepared =
  only.includes("integration") || only.includes("e2e") ? inBackground(preparation()) : undefined;
if (only.includes("checks")) await runChecks();
if (only.includes("unit")) await tests("unit", 15);
await prepared?.end();
if (only.includes("integration")) await runIntegration();
if (only.includes("e2e")) await runEndToEnd();

console.log("");
for (const result of done) console.log(`  ${result.name.padEnd(20)} ${counts(result)}`);
printSlowest();
printFailures();
printSkipped();
const total = (key: "passed" | "failed"): number => done.reduce((sum, result) => sum + result[key], 0);
console.log(`${total("passed")} passed, ${total("failed")} failed`);
process.exitCode = total("failed") === 0 ? 0 : 1;

/** Builds the programs that tests run and, for end-to-end tests, the images. */
function preparation(): CheckOptions {
  return {
    name: "programs and images",
    command: ["tools/test/prepare.sh", ...(only.includes("e2e") ? ["--images"] : [])],
    timeoutMinutes: 60,
    env: { ...cluster, JOYPOD_KEEP: keep ? "yes" : "" },
  };
}

async function runChecks(): Promise<void> {
  const linted = inBackground({
    name: "lint",
    command: ["npm", "run", "--silent", "lint"],
    timeoutMinutes: 15,
  });
  await check("typecheck", ["npm", "run", "--silent", "typecheck"], 15);
  await check("generated files", ["tools/manifests/verify.sh"], 5);
  await check("formatting", ["tools/fmt.sh", "--check"], 15);
  await check("shell scripts", ["tools/test/lintShell.sh"], 5);
  await check("workflows", ["tools/test/lintWorkflows.sh"], 5);
  await audit("npm audit", "tools/supplyChain/auditNpm.sh");
  await audit("govulncheck", "tools/supplyChain/auditGo.sh");
  await check("bill of materials", ["tools/supplyChain/sbom.sh"], 5);
  await linted.end();
}

async function runIntegration(): Promise<void> {
  const queue = new PQueue({ concurrency: 2 });
  const lanes = sharedLanes.map((lane) =>
    inBackground(mochaCheck(lane, { timeoutMinutes: 40 }), (run) => queue.add(run)),
  );
  for (const lane of lanes) await lane.end();
  const streamer = inBackground(mochaCheck("integration:streamer", { timeoutMinutes: 20 }));
  await tests("integration:players", 20);
  await streamer.end();
}

async function runEndToEnd(): Promise<void> {
  await check("platform", ["tools/platform/up.sh"], 30, {
    ...cluster,
    JOYPOD_HELM_VALUES: join(root, "test/e2e/values.yaml"),
    JOYPOD_DEMO_GAMES: "thequestion",
  });
  await tests("e2e", 60, cluster);
  if (!keep)
    await runCheck({
      name: "clean-up",
      command: ["tools/cluster/delete.sh"],
      timeoutMinutes: 5,
      env: cluster,
    });
}

async function check(
  name: string,
  command: CheckOptions["command"],
  timeoutMinutes: number,
  env: NodeJS.ProcessEnv = {},
): Promise<void> {
  announce(name);
  report(await runCheck({ name, command, timeoutMinutes, env }));
}

/** Runs a check of a vulnerability database, which is skipped if the database does not answer. */
async function audit(name: string, script: string): Promise<void> {
  announce(name);
  report(await runCheck({ name, command: [script], timeoutMinutes: 15, canSkip: true }));
}

async function tests(tier: Tier, timeoutMinutes: number, env: NodeJS.ProcessEnv = {}): Promise<void> {
  announce(tier);
  report(await runTests(mochaCheck(tier, { timeoutMinutes, env })));
}

/** Starts a check when `schedule` runs it. `end` waits for it and prints its output and result. */
function inBackground(
  options: CheckOptions | TestsOptions,
  schedule: (run: () => Promise<CheckResult>) => Promise<CheckResult> = (run) => run(),
): { end: () => Promise<void> } {
  const logFile = join(results, `${options.name.replaceAll(/\W/g, "-")}.log`);
  rmSync(logFile, { force: true });
  const ended = schedule(() =>
    "summaryFile" in options ? runTests({ ...options, logFile }) : runCheck({ ...options, logFile }),
  );
  return {
    end: async () => {
      announce(`${options.name} (ran in the background)`);
      const result = await ended;
      process.stdout.write(readFileSync(logFile));
      report(result);
    },
  };
}

function mochaCheck(tier: Tier, options: Omit<CheckOptions, "name" | "command">): TestsOptions {
  const command: CheckOptions["command"] = [
    "npm",
    "run",
    "--silent",
    tier,
    "--",
    "--reporter",
    "tools/test/reporter.ts",
  ];
  const file = join(results, tier.replace(":", "-"));
  return {
    ...options,
    name: tier,
    command,
    summaryFile: `${file}.json`,
    junitFile: `${file}.xml`,
    retries,
  };
}

/** Prints the 20 slowest checks, tests and hooks in one table. */
function printSlowest(): void {
  const rows = done.flatMap(({ name, seconds, slowest }) => [
    { check: name, title: "(the whole check)", seconds },
    ...slowest.map((timing) => ({ check: name, ...timing })),
  ]);
  console.log("\nSlowest checks and tests");
  for (const { check: name, title, seconds } of rows.sort((a, b) => b.seconds - a.seconds).slice(0, 20)) {
    console.log(`  ${seconds.toFixed(1).padStart(7)} s  ${name.padEnd(20)} ${title}`);
  }
  console.log("");
}

/** Prints each test that failed, including those that passed on retry. */
function printFailures(): void {
  for (const { name, failures, unstable } of done) {
    for (const failure of unstable) printFailure("UNSTABLE (passed on retry)", name, failure);
    for (const failure of failures) printFailure("FAILED", name, failure);
  }
}

function printSkipped(): void {
  for (const { name, skipped } of done)
    if (skipped) console.log(`audit skipped: ${name} got no response from its database.`);
}

function printFailure(what: string, check: string, { title, reason }: Failure): void {
  console.log(`  ${what}  ${check}  ${title}\n          ${reason.replaceAll("\n", "\n          ")}\n`);
}

function announce(name: string): void {
  console.log(`\n== ${name}`);
}

function report(result: CheckResult): void {
  done.push(result);
  console.log(`== ${result.name}: ${counts(result)}`);
}

function counts({ passed, failed, skipped, seconds }: CheckResult): string {
  return skipped ? `skipped, ${seconds} s` : `${passed} passed, ${failed} failed, ${seconds} s`;
}
