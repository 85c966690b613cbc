// Runs everything that proves the project and ends with one line, `N passed, N failed`. A failing stage hides no other. The cluster
// for the end-to-end tests is prepared in the background, by its own name (JOYPOD_CLUSTER, default joypod-test), and is removed
// at the end unless JOYPOD_KEEP is set. What takes many minutes by its nature, the soak tests, runs beside integration and e2e.
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { endRunningStages, runCheck, runTests, type StageOptions, type StageResult } from "./stage.ts";

type Tier = "unit" | "integration" | "soak" | "e2e";

const root = join(import.meta.dirname, "../..");
const results = join(root, "test-results");
const keep = (process.env["JOYPOD_KEEP"] ?? "") !== "";
const cluster = { JOYPOD_CLUSTER: process.env["JOYPOD_CLUSTER"] ?? "joypod-test" };

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    endRunningStages();
    process.exit(130);
  });
}

mkdirSync(results, { recursive: true });
process.chdir(root);
const done: StageResult[] = [];

const prepared = runCheck({
  name: "cluster and images", command: ["tools/test/prepare.sh"], timeoutMinutes: 60, logFile: join(results, "prepare.log"),
  env: { ...cluster, JOYPOD_KEEP: keep ? "yes" : "" },
});
await check("lint", ["npm", "run", "--silent", "lint"], 15);
await check("typecheck", ["npm", "run", "--silent", "typecheck"], 15);
await check("generated files", ["tools/manifests/verify.sh"], 5);
await check("shell scripts", ["tools/test/lintShell.sh"], 5);
await check("known weaknesses", ["tools/supplyChain/audit.sh"], 5);
await check("bill of materials", ["tools/supplyChain/sbom.sh"], 5);
await tests("unit", 15);

announce("cluster and images (in the background since the start; log in test-results/prepare.log)");
report(await prepared);
const soakLog = join(results, "soak.log");
const soaked = runTests(mochaStage("soak", { timeoutMinutes: 40, logFile: soakLog }));
await tests("integration", 40);
await check("platform", ["tools/platform/up.sh"], 30, { ...cluster, JOYPOD_HELM_VALUES: join(root, "test/e2e/values.yaml") });
await tests("e2e", 45, cluster);
announce("soak (in the background since the integration tests)");
const soakResult = await soaked;
process.stdout.write(readFileSync(soakLog));
report(soakResult);
if (!keep) await runCheck({ name: "clean-up", command: ["tools/cluster/delete.sh"], timeoutMinutes: 5, env: cluster });

console.log("");
for (const { name, passed, failed, seconds } of done) console.log(`  ${name.padEnd(20)} ${passed} passed, ${failed} failed, ${seconds} s`);
const total = (key: "passed" | "failed"): number => done.reduce((sum, result) => sum + result[key], 0);
console.log(`${total("passed")} passed, ${total("failed")} failed`);
process.exitCode = total("failed") === 0 ? 0 : 1;

async function check(name: string, command: StageOptions["command"], timeoutMinutes: number, env: NodeJS.ProcessEnv = {}): Promise<void> {
  announce(name);
  report(await runCheck({ name, command, timeoutMinutes, env }));
}

async function tests(tier: Tier, timeoutMinutes: number, env: NodeJS.ProcessEnv = {}): Promise<void> {
  announce(tier);
  report(await runTests(mochaStage(tier, { timeoutMinutes, env })));
}

function mochaStage(tier: Tier, options: Omit<StageOptions, "name" | "command">): StageOptions & { summaryFile: string } {
  const command: StageOptions["command"] = ["npm", "run", "--silent", tier, "--", "--reporter", "tools/test/reporter.ts"];
  return { ...options, name: tier, command, summaryFile: join(results, `${tier}.json`) };
}

function announce(name: string): void {
  console.log(`\n== ${name}`);
}

function report(result: StageResult): void {
  done.push(result);
  console.log(`== ${result.name}: ${result.passed} passed, ${result.failed} failed, ${result.seconds} s`);
}
