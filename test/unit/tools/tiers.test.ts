import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { repositoryRoot } from "#test/support/processes/programs.ts";

/** The script that runs all integration lanes at once. */
const together = "integration";

describe("the test scripts of package.json", () => {
  const { scripts } = JSON.parse(readFileSync(join(repositoryRoot, "package.json"), "utf8")) as {
    scripts: Record<string, string>;
  };
  const commands = Object.entries(scripts)
    .filter(([name, command]) => command.includes("mocha ") && name !== together)
    .map(([, command]) => command);

  it("run whole folders that together hold each test file once", () => {
    const files = commands.flatMap((command) => {
      const folder = /^[^"]*"(test\/[a-z0-9/-]+)\/\*\*\/\*\.test\.ts"$/.exec(command)?.[1];
      expect(folder, `the folder of \`${command}\``).to.be.a("string");
      const found = globSync(`${folder}/**/*.test.ts`, { cwd: repositoryRoot });
      expect(found, `the test files in ${folder}`).to.not.be.empty;
      return found;
    });
    expect(files.toSorted()).to.deep.equal(globSync("test/**/*.test.ts", { cwd: repositoryRoot }).toSorted());
  });

  it("include one for each integration lane, and make test runs each lane", () => {
    const program = readFileSync(join(repositoryRoot, "tools/test/run.ts"), "utf8");
    for (const name of Object.keys(scripts).filter((script) => script.startsWith("integration:")))
      expect(program).to.contain(`"${name}"`);
  });
});
