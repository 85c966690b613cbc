import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { type CheckResult, RetryBudget, runCheck, runTests } from "../../../tools/test/check.ts";

const title = "a door (of [two]) opens";

describe("runTests", function () {
  this.timeout(60_000);
  let folder: string;
  let retries: RetryBudget;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "check-"));
    retries = new RetryBudget(2);
  });
  afterEach(() => rm(folder, { recursive: true }));

  /** Runs a suite "a door" with this body. Its tests keep state between runs in `folder`. */
  async function run(body: string): Promise<CheckResult> {
    const file = join(folder, "door.test.mjs");
    await writeFile(
      file,
      `import { existsSync, writeFileSync } from "node:fs";
      function failOnce(name) {
        const file = ${JSON.stringify(`${folder}/`)} + name;
        if (existsSync(file)) return;
        writeFileSync(file, "");
        throw new Error(name + " jams.");
      }
      describe("a door", () => { ${body} });`,
    );
    const command: [string, ...string[]] = [
      process.execPath,
      "node_modules/mocha/bin/mocha.js",
      "--no-config",
      "--reporter",
      "tools/test/reporter.ts",
      file,
    ];
    return runTests({
      name: "doors",
      command,
      timeoutMinutes: 1,
      summaryFile: join(folder, "doors.json"),
      junitFile: join(folder, "doors.xml"),
      retries,
      logFile: join(folder, "doors.log"),
    });
  }

  it("counts a test that passes on retry as passed, and lists it as unstable with its reason", async () => {
    const result = await run(`it("(of [two]) opens", () => failOnce("lock")); it("closes", () => {});`);
    expect(result).to.include({ passed: 2, failed: 0 });
    expect(result.unstable).to.deep.equal([{ title, reason: "lock jams." }]);
    expect(result.failures).to.deep.equal([]);
  });

  it("counts a test that fails twice as failed", async () => {
    const result = await run(
      `it("(of [two]) opens", () => { throw new Error("It is walled up."); }); it("closes", () => {});`,
    );
    expect(result).to.include({ passed: 1, failed: 1 });
    expect(result.failures).to.deep.equal([{ title, reason: "It is walled up." }]);
    expect(result.unstable).to.deep.equal([]);
  });

  it("retries only the test that failed, not one whose title begins with the same words", async () => {
    await run(`it("opens", () => failOnce("lock")); it("opens twice", () => {});`);
    const junit = await readFile(join(folder, "doors.retry.xml"), "utf8");
    expect(junit).to.contain('name="opens"').and.not.contain('name="opens twice"');
  });

  it("retries the suite whose hook failed", async () => {
    const result = await run(`before(() => failOnce("hinge")); it("opens", () => {});`);
    expect(result).to.include({ passed: 1, failed: 0 });
    expect(result.unstable.map(({ title: failed }) => failed)).to.deep.equal([
      'a door "before all" hook for "opens"',
    ]);
  });

  it("retries nothing when more tests fail than the run may retry", async () => {
    const result = await run(
      `for (const number of [1, 2, 3]) it("opens " + number, () => failOnce("lock" + number));`,
    );
    expect(result).to.include({ passed: 0, failed: 3 });
  });

  it("retries two tests in all tiers of a run together, and fails the third", async () => {
    const tier = (name: string): Promise<CheckResult> => run(`it("opens", () => failOnce("${name}"));`);
    expect(await tier("first")).to.include({ passed: 1, failed: 0 });
    expect(await tier("second")).to.include({ passed: 1, failed: 0 });
    expect(await tier("third")).to.include({ passed: 0, failed: 1 });
  });

  it("writes a JUnit report with each test and failure", async () => {
    await run(`it("opens", () => { throw new Error("It is walled up."); }); it("closes", () => {});`);
    const junit = await readFile(join(folder, "doors.xml"), "utf8");
    expect(junit).to.contain("<testsuite ").and.contain('name="closes"').and.contain("It is walled up.");
  });
});

describe("runCheck", () => {
  const exiting = (code: number, canSkip?: boolean): Promise<CheckResult> =>
    runCheck({
      name: "doors",
      command: [process.execPath, "-e", `process.exit(${code})`],
      timeoutMinutes: 1,
      ...(canSkip !== undefined && { canSkip }),
    });

  it("counts exit code 0 as passed and any other as failed", async () => {
    expect(await exiting(0)).to.include({ passed: 1, failed: 0, skipped: false });
    expect(await exiting(1)).to.include({ passed: 0, failed: 1, skipped: false });
  });

  it("counts exit code 75 as neither when the check can skip, else as failed", async () => {
    expect(await exiting(75, true)).to.include({ passed: 0, failed: 0, skipped: true });
    expect(await exiting(75)).to.include({ passed: 0, failed: 1, skipped: false });
  });
});
