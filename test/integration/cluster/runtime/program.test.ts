import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { expect } from "chai";
import { repositoryRoot } from "#test/support/processes/programs.ts";

const prelude = `
  import { createLogger } from "#runtime/program/createLogger.ts";
  import { orExit, runProgram } from "#runtime/program/program.ts";
  const logger = createLogger({ program: "test", level: "info" });
  const started = async () => logger.info({}, "Started.");
  const alive = setInterval(() => undefined, 1000);
`;

describe("runProgram", function () {
  this.timeout(60_000);
  let child: ChildProcess;

  afterEach(() => {
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
  });

  /** Runs the program, sends it the signal after its start, and returns its exit code and output. */
  async function run(
    program: string,
    signal?: NodeJS.Signals,
  ): Promise<{ code: number | null; output: string }> {
    child = spawn(process.execPath, ["--input-type=module", "-e", prelude + program], {
      cwd: repositoryRoot,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on("data", (chunk: Buffer) => {
        if (!output.includes("Started.") && chunk.includes("Started.") && signal !== undefined)
          child.kill(signal);
        output += chunk.toString();
      });
    }
    const [code] = (await once(child, "close")) as [number | null];
    return { code, output };
  }

  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    it(`exits with 0 when it has stopped on ${signal}`, async () => {
      const { code, output } = await run(
        "runProgram({ logger, start: started, stop: async () => logger.info({}, 'Closed.'), stopDeadlineMs: 5000 });",
        signal,
      );
      expect(code, output).to.equal(0);
      // A line that standard output cannot take immediately may arrive after the next one.
      expect(output)
        .to.contain(`"signal":"${signal}"`)
        .and.contain("Closed.")
        .and.contain("The program has stopped.");
    });
  }

  it("exits with 1 when it cannot start", async () => {
    const { code, output } = await run(
      "runProgram({ logger, start: async () => { throw new Error('No port.'); }, stop: async () => {}, stopDeadlineMs: 5000 });",
    );
    expect(code, output).to.equal(1);
    expect(output).to.contain("could not start").and.contain("No port.");
  });

  it("exits with 0 when it is stopped during the start", async () => {
    const start =
      "(stopping) => { started(); return new Promise((_, reject) => stopping.addEventListener('abort', () => reject(stopping.reason))); }";
    const { code, output } = await run(
      `runProgram({ logger, start: ${start}, stop: async () => {}, stopDeadlineMs: 5000 });`,
      "SIGTERM",
    );
    expect(code, output).to.equal(0);
  });

  it("exits with 1 when it does not stop in time", async () => {
    const { code, output } = await run(
      "runProgram({ logger, start: started, stop: () => new Promise(() => {}), stopDeadlineMs: 50 });",
      "SIGTERM",
    );
    expect(code, output).to.equal(1);
    expect(output).to.contain("could not stop in time");
  });

  it("exits with 1 when stopping fails", async () => {
    const { code, output } = await run(
      "runProgram({ logger, start: started, stop: async () => { throw new Error('Still held.'); }, stopDeadlineMs: 5000 });",
      "SIGTERM",
    );
    expect(code, output).to.equal(1);
    expect(output).to.contain("could not stop gracefully").and.contain("Still held.");
  });

  it("exits with 1 and logs the reason of an unhandled error", async () => {
    const { code, output } = await run(
      "runProgram({ logger, start: started, stop: async () => {}, stopDeadlineMs: 5000 }); Promise.reject(new Error('Lost.'));",
    );
    expect(code, output).to.equal(1);
    const line = output.split("\n").find((each) => each.includes("Lost."));
    expect(JSON.parse(line ?? "null")).to.include({ level: "error", program: "test" });
  });

  it("exits with 1 and prints only the message when its configuration is invalid", async () => {
    const { code, output } = await run("orExit(() => { throw new Error('Set PORT.'); });");
    expect([code, output]).to.deep.equal([1, "Set PORT.\n"]);
  });
});
