import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { type CheckResult, runTests } from "../../../tools/test/check.ts";

const title = "a door (of [two]) opens";

describe("a run of tests", function () {
  this.timeout(60_000);
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "check-"));
  });
  afterEach(() => rm(folder, { recursive: true }));

  /**
   * Runs tests of a suite "a door", given as the body of its describe; what they keep between runs is in
   * `folder`.
   */
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
      logFile: join(folder, "doors.log"),
    });
  }

  it("tells a test that fails once as passed, and as unstable with its reason", async () => {
    const result = await run(`it("(of [two]) opens", () => failOnce("lock")); it("closes", () => {});`);
    expect(result).to.include({ passed: 2, failed: 0 });
    expect(result.unstable).to.deep.equal([{ title, reason: "lock jams." }]);
    expect(result.failures).to.deep.equal([]);
  });

  it("tells a test that fails twice as failed", async () => {
    const result = await run(
      `it("(of [two]) opens", () => { throw new Error("It is walled up."); }); it("closes", () => {});`,
    );
    expect(result).to.include({ passed: 1, failed: 1 });
    expect(result.failures).to.deep.equal([{ title, reason: "It is walled up." }]);
    expect(result.unstable).to.deep.equal([]);
  });

  it("runs the suite again whose hook failed", async () => {
    const result = await run(`before(() => failOnce("hinge")); it("opens", () => {});`);
    expect(result).to.include({ passed: 1, failed: 0 });
    expect(result.unstable.map(({ title: failed }) => failed)).to.deep.equal([
      'a door "before all" hook for "opens"',
    ]);
  });

  it("does not run again what fails in more than two places", async () => {
    const result = await run(
      `for (const number of [1, 2, 3]) it("opens " + number, () => failOnce("lock" + number));`,
    );
    expect(result).to.include({ passed: 0, failed: 3 });
  });
});
