// Runs everything that proves the project, tells what took longest and what failed, and ends with one line,
// `N passed, N failed`. A failing check hides no other. One or two tests of a tier that fail are run once
// more by themselves; what passes then is told as unstable. Two processors are the measure: what measures a
// stream, and the sessions on the platform, have the machine to themselves, since a busy one fails their
// tests.
//
//   1. programs and images beside: lint, and beside both: types, the short checks, unit tests
//   2. integration: the lanes api, cluster and, one after the other, delivery and web
//   3. streams whose rates and times are measured
//   4. pages that play, and tests of players' connections beside: the rest of the streamer, players' devices,
//      connections that are lost
//   5. the platform on a cluster (JOYPOD_CLUSTER, default joypod-test), and sessions on it, also of a game
//      that is hostile
//
// The cluster is made when it is needed, for an idle one takes a tenth of the machine, and removed at the end
// unless JOYPOD_KEEP is set. Faults, floods and variations, and what takes many minutes by its nature, are in
// tools/test/long.sh.
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import {
  endRunningChecks,
  runCheck,
  runTests,
  type CheckOptions,
  type CheckResult,
  type Failure,
  type TestsOptions,
} from "./check.ts";

type Tier =
  | "unit"
  | `integration:${"api" | "cluster" | "delivery" | "web" | "measured" | "players" | "streamer"}`
  | "e2e";

const root = join(import.meta.dirname, "../..");
const results = join(root, "test-results");
const keep = (process.env["JOYPOD_KEEP"] ?? "") !== "";
const cluster = { JOYPOD_CLUSTER: process.env["JOYPOD_CLUSTER"] ?? "joypod-test" };

// A terminal that goes away ends it, too: its checks have sessions of their own.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.once(signal, () => {
    endRunningChecks();
    process.exit(130);
  });
}

mkdirSync(results, { recursive: true });
// Node keeps what it compiles, for the next process that loads the same.
process.env["NODE_COMPILE_CACHE"] ??= join(results, "compiled");
process.chdir(root);
const done: CheckResult[] = [];

const prepared = inBackground({
  name: "programs and images",
  command: ["tools/test/prepare.sh"],
  timeoutMinutes: 60,
  env: { ...cluster, JOYPOD_KEEP: keep ? "yes" : "" },
});
const linted = inBackground({
  name: "lint",
  command: ["npm", "run", "--silent", "lint"],
  timeoutMinutes: 15,
});
await check("typecheck", ["npm", "run", "--silent", "typecheck"], 15);
await check("generated files", ["tools/manifests/verify.sh"], 5);
await check("formatting", ["tools/fmt.sh", "--check"], 15);
await check("shell scripts", ["tools/test/lintShell.sh"], 5);
await check("known vulnerabilities", ["tools/supplyChain/audit.sh"], 5);
await check("bill of materials", ["tools/supplyChain/sbom.sh"], 5);
await tests("unit", 15);
await linted.end();
await prepared.end();

const clusterTests = inBackground(mochaCheck("integration:cluster", { timeoutMinutes: 40 }));
const deliveryTests = inBackground(mochaCheck("integration:delivery", { timeoutMinutes: 40 }));
const webTests = inBackground(mochaCheck("integration:web", { timeoutMinutes: 40 }), deliveryTests.ended);
await tests("integration:api", 40);
await clusterTests.end();
await deliveryTests.end();
await webTests.end();
await tests("integration:measured", 20);
const streamer = inBackground(mochaCheck("integration:streamer", { timeoutMinutes: 20 }));
await tests("integration:players", 20);
await streamer.end();

await check("platform", ["tools/platform/up.sh"], 30, {
  ...cluster,
  JOYPOD_HELM_VALUES: join(root, "test/e2e/values.yaml"),
  JOYPOD_DEMO_GAMES: "thequestion",
});
await tests("e2e", 60, cluster);
if (!keep)
  await runCheck({ name: "clean-up", command: ["tools/cluster/delete.sh"], timeoutMinutes: 5, env: cluster });

console.log("");
for (const { name, passed, failed, seconds } of done)
  console.log(`  ${name.padEnd(20)} ${passed} passed, ${failed} failed, ${seconds} s`);
printSlowest();
printFailures();
const total = (key: "passed" | "failed"): number => done.reduce((sum, result) => sum + result[key], 0);
console.log(`${total("passed")} passed, ${total("failed")} failed`);
process.exitCode = total("failed") === 0 ? 0 : 1;

async function check(
  name: string,
  command: CheckOptions["command"],
  timeoutMinutes: number,
  env: NodeJS.ProcessEnv = {},
): Promise<void> {
  announce(name);
  report(await runCheck({ name, command, timeoutMinutes, env }));
}

async function tests(tier: Tier, timeoutMinutes: number, env: NodeJS.ProcessEnv = {}): Promise<void> {
  announce(tier);
  report(await runTests(mochaCheck(tier, { timeoutMinutes, env })));
}

/** Starts a check once `after` has resolved. `end` waits for it, then prints its output and its result. */
function inBackground(
  options: CheckOptions | TestsOptions,
  after: Promise<unknown> = Promise.resolve(),
): { ended: Promise<CheckResult>; end: () => Promise<void> } {
  const logFile = join(results, `${options.name.replaceAll(/\W/g, "-")}.log`);
  rmSync(logFile, { force: true });
  const ended = after.then(() =>
    "summaryFile" in options ? runTests({ ...options, logFile }) : runCheck({ ...options, logFile }),
  );
  return {
    ended,
    end: async () => {
      announce(`${options.name} (in the background until now)`);
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
  return { ...options, name: tier, command, summaryFile: join(results, `${tier.replace(":", "-")}.json`) };
}

/** Prints the checks, tests and hooks that took longest, all in one table. */
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

/**
 * Prints each test that failed, though it may have passed when it was run once more, where a reader of the
 * last lines finds it.
 */
function printFailures(): void {
  for (const { name, failures, unstable } of done) {
    for (const failure of unstable) printFailure("UNSTABLE (failed, then passed by itself)", name, failure);
    for (const failure of failures) printFailure("FAILED", name, failure);
  }
}

function printFailure(what: string, check: string, { title, reason }: Failure): void {
  console.log(`  ${what}  ${check}  ${title}\n          ${reason.replaceAll("\n", "\n          ")}\n`);
}

function announce(name: string): void {
  console.log(`\n== ${name}`);
}

function report(result: CheckResult): void {
  done.push(result);
  console.log(`== ${result.name}: ${result.passed} passed, ${result.failed} failed, ${result.seconds} s`);
}
