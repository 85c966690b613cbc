import { globSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, relative } from "node:path";
import { expect } from "chai";
import { repositoryRoot } from "#test/support/processes/programs.ts";

/** How mocha itself finds the files that it is told of. */
const collectFiles = createRequire(import.meta.url)("mocha/lib/cli/collect-files.cjs") as (options: {
  spec: readonly string[];
  ignore: readonly string[];
  extension: readonly string[];
  file: readonly string[];
  recursive: boolean;
  sort: boolean;
  allowEmpty: boolean;
}) => { files: string[] };

/** The script that runs all of several others at once, for a person. */
const together = "integration";

describe("the scripts that run tests", () => {
  const { scripts } = JSON.parse(readFileSync(join(repositoryRoot, "package.json"), "utf8")) as {
    scripts: Record<string, string>;
  };
  const commands = Object.entries(scripts)
    .filter(([name, command]) => command.includes("mocha ") && name !== together)
    .map(([, command]) => command);

  /** The files that mocha runs by such a command: of its options all have a value. */
  function filesOf(command: string): string[] {
    const words = [...command.slice(command.indexOf("mocha ") + 6).matchAll(/"([^"]*)"|\S+/g)].map(
      ([word, quoted]) => quoted ?? word,
    );
    const ignore = words.filter((_, at) => words[at - 1] === "--ignore");
    const spec = words.filter(
      (word, at) => !word.startsWith("--") && words[at - 1]?.startsWith("--") !== true,
    );
    return spec.flatMap((one) => {
      const { files } = collectFiles({
        spec: [one],
        ignore,
        extension: ["ts"],
        file: [],
        recursive: false,
        sort: false,
        allowEmpty: true,
      });
      expect(files, `what ${one} of \`${command}\` finds`).to.not.be.empty;
      return files.map((file) => relative(repositoryRoot, file));
    });
  }

  it("run each test file, and each once", () => {
    const all = globSync("test/**/*.test.ts", { cwd: repositoryRoot });
    expect(all.length).to.be.above(300);
    expect(commands.flatMap(filesOf).toSorted()).to.deep.equal(all.toSorted());
  });

  it("of the integration are tiers of make test, each of them once", () => {
    const program = readFileSync(join(repositoryRoot, "tools/test/run.ts"), "utf8");
    const run = [...program.matchAll(/"(integration:\w+)"/g)].map(([, name]) => name);
    expect(run.toSorted()).to.deep.equal(
      Object.keys(scripts)
        .filter((name) => name.startsWith("integration:"))
        .toSorted(),
    );
  });
});
