import { expect } from "chai";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "#test/support/clocks/eventually.ts";
import { repositoryRoot } from "#test/support/processes/programs.ts";

describe("steps of the tools", () => {
  let cache: string;

  beforeEach(() => {
    cache = mkdtempSync(join(tmpdir(), "joypod-steps-"));
  });
  afterEach(() => rmSync(cache, { recursive: true, force: true }));

  function start(
    script: string,
    env: Record<string, string> = {},
  ): { said: () => string; interrupt: () => void; ended: Promise<number | null> } {
    const child = spawn("bash", ["-euo", "pipefail", "-c", `. tools/lib.sh\n${script}`], {
      cwd: repositoryRoot,
      env: { PATH: process.env["PATH"], HOME: cache, JOYPOD_CACHE: cache, ...env },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let said = "";
    child.stderr.on("data", (text: Buffer) => (said += text.toString()));
    const ended = new Promise<number | null>((resolve, reject) =>
      child.once("error", reject).once("close", resolve),
    );
    return { said: () => said, interrupt: () => child.kill("SIGINT"), ended };
  }

  it("show an estimate from the last run, or from the kind of step", async () => {
    const first = start('step "Making a thing" thing true; step "Creating a cluster" cluster-x true');
    expect(await first.ended).to.equal(0);
    expect(first.said())
      .to.contain("Making a thing …\n")
      .and.to.contain("Creating a cluster … (about 1 min)\n")
      .and.to.contain("  Creating a cluster: done in ");
    writeFileSync(join(cache, "durations/thing"), "125\n");
    const second = start('step "Making a thing" thing true', { CI: "true" });
    expect(await second.ended).to.equal(0);
    expect(second.said()).to.contain("Making a thing … (about 2 min 5 s)\n");
    expect(readFileSync(join(cache, "durations/thing"), "utf8")).to.match(/^\d\n$/);
  });

  it("that fail show the end of their log and an error message, and do not store their duration", async () => {
    const { said, ended } = start('step "Making a thing" thing bash -c "echo the reason; exit 3"');
    expect(await ended).to.equal(1);
    expect(said())
      .to.contain("the reason\n")
      .and.to.contain(`joypod: Making a thing failed. The full log is in ${cache}/logs/thing.log.`);
    expect(existsSync(join(cache, "durations/thing"))).to.be.false;
  });

  it("hash their inputs by content, even if a path has spaces", async () => {
    const folder = join(cache, "a folder");
    mkdirSync(folder);
    const hash = async (content: string): Promise<string> => {
      writeFileSync(join(folder, "a file"), content);
      const { said, ended } = start(`hashOf "${folder}" >&2`);
      expect(await ended).to.equal(0);
      expect(said()).to.match(/^[0-9a-f]{12}\n$/);
      return said();
    };
    expect(await hash("one"))
      .to.equal(await hash("one"))
      .and.not.equal(await hash("two"));
  });

  it("end their command when interrupted", async () => {
    const { said, interrupt, ended } = start('step "Making a thing" thing bash -c "echo \\$\\$; sleep 300"');
    const pid = await eventually(
      () =>
        Number(
          existsSync(join(cache, "logs/thing.log")) && readFileSync(join(cache, "logs/thing.log"), "utf8"),
        ) || undefined,
      { what: "the step to begin" },
    );
    interrupt();
    expect(await ended).to.equal(130);
    expect(said()).to.contain("Interrupted: Making a thing was ended.");
    await eventually(() => !existsSync(`/proc/${pid}`), { what: "its command to end" });
  });
});

describe("make release", () => {
  it("does not replace a folder that is not a release", () => {
    const folder = mkdtempSync(join(tmpdir(), "joypod-release-"));
    try {
      writeFileSync(join(folder, "letter"), "to keep");
      const { status, stderr } = spawnSync("tools/release/release.sh", {
        cwd: repositoryRoot,
        env: { ...process.env, RELEASE_FOLDER: folder },
        encoding: "utf8",
        timeout: 60_000,
      });
      expect(status).to.equal(1);
      expect(stderr).to.contain(`RELEASE_FOLDER ${folder} is not a release`);
      expect(readFileSync(join(folder, "letter"), "utf8")).to.equal("to keep");
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
