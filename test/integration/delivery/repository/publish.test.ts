import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { repositoryRoot } from "#test/support/processes/programs.ts";
import { packChart } from "../../../../tools/release/chart.ts";
import { writeChecksums } from "../../../../tools/release/checksums.ts";
import { readImageTable } from "../../../../tools/release/imageTable.ts";
import { mediaTypes, OciLayout } from "../../../../tools/release/ociLayout.ts";
import { projectVersion } from "../../../../tools/release/version.ts";

const run = promisify(execFile);
const version = projectVersion(repositoryRoot);

/**
 * Called as `helm package CHART --version … --app-version … --destination FOLDER`; what it packs is what it
 * is given.
 */
const helm = 'tar -czf "$8/joypod-$4.tgz" -C "$(dirname "$2")" joypod';

describe("publishing a release", function () {
  this.timeout(60_000);
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "joypod-publish-"));
    mkdirSync(join(folder, "bin"));
    const programs: Record<string, string> = {
      docker: "exit 0",
      helm: `echo packed >>${folder}/packed\n${helm}`,
      skopeo: `echo "\${@: -1}" >>${folder}/pushed`,
    };
    for (const [name, script] of Object.entries(programs))
      writeFileSync(join(folder, "bin", name), `#!/bin/bash\n${script}\n`, { mode: 0o755 });
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** Makes a release whose chart names its images in the registry, with images that hold nothing. */
  async function makeRelease(repository: string): Promise<void> {
    const release = join(folder, "release");
    mkdirSync(release);
    const layout = new OciLayout(join(release, "oci"));
    const images = readImageTable(repositoryRoot);
    for (const { name } of images)
      layout.name(layout.addJson(mediaTypes.index, { name }), `${name}:${version}`);
    await packChart({
      root: repositoryRoot,
      folder: release,
      helm: join(folder, "bin/helm"),
      images,
      repository,
      version,
      layout,
      created: "2030-01-01T10:00:00Z",
    });
    await writeChecksums(release);
  }

  /** Publishes it, and returns where its chart says then that the control plane's image is. */
  async function publish(registry: string): Promise<string | undefined> {
    rmSync(join(folder, "pushed"), { force: true });
    await run(join(repositoryRoot, "tools/release/publish.sh"), {
      env: {
        ...process.env,
        PATH: `${join(folder, "bin")}:${process.env["PATH"] ?? ""}`,
        JOYPOD_CACHE: join(folder, "cache"),
        JOYPOD_ENGINE: "docker",
        JOYPOD_FROM_SOURCE: "no",
        RELEASE_FOLDER: join(folder, "release"),
        REGISTRY: registry,
      },
    });
    const { stdout } = await run("tar", [
      "-xzOf",
      join(folder, `release/joypod-${version}.tgz`),
      "joypod/values.yaml",
    ]);
    return /^ {2}controlPlane: (\S+):[^:]+@/m.exec(stdout)?.[1];
  }

  it("packs the chart again for every other path, including one above or below its own", async () => {
    await makeRelease("registry.example.com/games/joypod");
    for (const registry of [
      "registry.example.com/games/joypod",
      "registry.example.com/games",
      "registry.example.com",
      "registry.example.com/games/joypod",
    ]) {
      expect(await publish(registry)).to.equal(`${registry}/control-plane`);
      expect(readFileSync(join(folder, "pushed"), "utf8"), "where the images are").to.contain(
        `docker://${registry}/control-plane:${version}\n`,
      );
    }
    expect(
      readFileSync(join(folder, "packed"), "utf8"),
      "once for the release, and for three of the paths",
    ).to.equal("packed\n".repeat(4));
    expect(readdirSync(join(folder, "release"))).to.have.members([
      "SHA256SUMS",
      `joypod-${version}.tgz`,
      "oci",
    ]);
  });
});
