import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect } from "chai";
import { parse } from "yaml";
import { repositoryRoot } from "#test/support/processes/programs.ts";
import { debianComponents } from "../../../tools/release/billOfMaterials.ts";
import { pinImages } from "../../../tools/release/chart.ts";
import { packKubectlPlugin } from "../../../tools/release/krew.ts";
import { readImageTable } from "../../../tools/release/imageTable.ts";
import { mediaTypes, namesIn, OciLayout } from "../../../tools/release/ociLayout.ts";
import { disagreements, projectVersion, setVersion } from "../../../tools/release/version.ts";

describe("a release", () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "joypod-release-"));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it("has one version, which package.json says", () => {
    expect(disagreements(repositoryRoot)).to.deep.equal([]);
  });

  it("gets its version in one place, from which it is written to the others", () => {
    for (const file of [
      "package.json",
      "package-lock.json",
      "charts/joypod/Chart.yaml",
      "charts/joypod/values.yaml",
    ]) {
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      cpSync(join(repositoryRoot, file), join(folder, file));
    }
    setVersion(folder, "7.8.9-rc.1");
    expect(projectVersion(folder)).to.equal("7.8.9-rc.1");
    expect(disagreements(folder)).to.deep.equal([]);
    const chart = join(folder, "charts/joypod/Chart.yaml");
    writeFileSync(
      chart,
      readFileSync(chart, "utf8").replace('appVersion: "7.8.9-rc.1"', 'appVersion: "7.8.8"'),
    );
    expect(disagreements(folder)).to.deep.equal([
      "charts/joypod/Chart.yaml has version 7.8.8, but package.json has 7.8.9-rc.1.",
    ]);
    expect(() => setVersion(folder, "latest")).to.throw('"latest" is not a semantic version');
  });

  it("has the kubectl plugin as an archive, with a manifest for Krew", async () => {
    for (const name of ["kubectl-joypod", "kubectl_complete-joypod", "LICENSE"])
      writeFileSync(join(folder, name), name);
    const downloads = "https://forge.example.com/joypod/releases/download/v1.2.3";
    await packKubectlPlugin(folder, { version: "1.2.3", created: "2026-01-02T03:04:05Z", downloads });
    const archive = readFileSync(join(folder, "kubectl-joypod-1.2.3.tar.gz"));
    const manifest = parse(readFileSync(join(folder, "krew-joypod.yaml"), "utf8")) as {
      spec: { version: string; homepage: string; platforms: { uri: string; sha256: string; bin: string }[] };
    };
    expect(manifest.spec).to.include({ version: "v1.2.3", homepage: "https://forge.example.com/joypod" });
    expect(manifest.spec.platforms[0]).to.include({
      uri: `${downloads}/kubectl-joypod-1.2.3.tar.gz`,
      sha256: createHash("sha256").update(archive).digest("hex"),
      bin: "kubectl-joypod",
    });
    await packKubectlPlugin(folder, {
      version: "1.2.3",
      created: "2026-01-02T03:04:05Z",
      downloads: undefined,
    });
    expect(readFileSync(join(folder, "kubectl-joypod-1.2.3.tar.gz")).equals(archive)).to.equal(true);
    expect(existsSync(join(folder, "krew-joypod.yaml"))).to.equal(false);
  });

  it("pins every image of the chart by what the layout has, and lacks none", () => {
    const layout = new OciLayout(join(folder, "oci"));
    const images = readImageTable(repositoryRoot);
    for (const { name } of images) layout.name(layout.addJson(mediaTypes.index, { name }), `${name}:1.2.3`);
    const values = readFileSync(join(repositoryRoot, "charts/joypod/values.yaml"), "utf8");
    const pinned = pinImages(values, images, {
      repository: "registry.example.com:5000/joypod",
      version: "1.2.3",
      layout,
    });
    const lines = [
      ...pinned.matchAll(
        /^ {2}\w+: (registry\.example\.com:5000\/joypod\/([a-z-]+):1\.2\.3@(sha256:[0-9a-f]{64}))$/gm,
      ),
    ];
    expect(lines.map(([, , name]) => name)).to.have.members(images.map(({ name }) => name));
    for (const [, , name = "", digest] of lines) expect(digest).to.equal(layout.digestOf(`${name}:1.2.3`));
    expect(pinned.match(/joypod\/[a-z-]+:0\./g), "left by tag").to.equal(null);
    expect(() =>
      pinImages(values.replace("  game: joypod/game", "  game: elsewhere/game"), images, {
        repository: "r",
        version: "1.2.3",
        layout,
      }),
    ).to.throw("does not name the image game");
  });

  it("gives a name to the newest alone, and the others keep theirs", () => {
    const layout = new OciLayout(folder);
    layout.name(layout.addJson(mediaTypes.index, { first: 1 }), "api:1");
    layout.name(layout.addJson(mediaTypes.index, { other: 1 }), "turn:1");
    const newest = layout.addJson(mediaTypes.index, { second: 2 });
    layout.name(newest, "api:1");
    expect(namesIn(layout)).to.have.members(["api:1", "turn:1"]);
    expect(layout.digestOf("api:1")).to.equal(newest.digest);
    expect(() => layout.digestOf("web:1")).to.throw("has no web:1");
  });

  it("lists Debian's packages as dpkg has them, but for those that are removed", () => {
    const status =
      "Package: dash\nStatus: install ok installed\nArchitecture: arm64\nVersion: 0.5.12-12\n\nPackage: gone\nStatus: deinstall ok config-files\nArchitecture: arm64\nVersion: 1\n";
    expect(debianComponents(status)).to.deep.equal([
      {
        type: "library",
        name: "dash",
        version: "0.5.12-12",
        purl: "pkg:deb/debian/dash@0.5.12-12?arch=arm64&distro=trixie",
      },
    ]);
  });
});
