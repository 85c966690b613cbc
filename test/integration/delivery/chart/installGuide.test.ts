import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { parseAllDocuments } from "yaml";
import { chartFolder } from "#test/support/chart/helmTemplate.ts";
import { guideBlock, guideBlocks, guideScript, guideSettings } from "#test/support/fixtures/guides.ts";
import { programPath, repositoryRoot } from "#test/support/processes/programs.ts";

const run = promisify(execFile);

interface Manifest {
  kind: string;
  metadata: { name: string };
  spec?: {
    type?: string;
    tls?: { secretName: string }[];
    rules?: { host: string }[];
    ports?: { port: number }[];
  };
}

/**
 * What the blocks are for that a shell runs; test/e2e-long/install/install.test.ts runs them all, but for
 * what nodes with SELinux need.
 */
const purposes = [
  "settings",
  "images",
  "namespace",
  "install",
  "nat",
  "selinux",
  "certificate",
  "exposure ingress",
  "exposure loadbalancer",
  "exposure nodeport",
  "helm",
  "check",
  "policies",
];

describe("docs/install.md", function () {
  this.timeout(60_000);
  const directory = mkdtempSync(join(tmpdir(), "joypod-guide-"));
  after(() => rmSync(directory, { recursive: true }));

  /**
   * What Helm makes of the guide's values with a way of exposure: by the guide's own commands, but for the
   * last, which is `helm template` here.
   */
  const rendered = (exposure: string): Promise<Manifest[]> =>
    template(guideScript("install", [`exposure ${exposure}`, "helm"], { CHART: chartFolder }));

  /** Runs the commands with `helm template` in place of the installation. */
  async function template(commands: string): Promise<Manifest[]> {
    const script = commands
      .replace("helm upgrade --install", "helm template --kube-version 1.35.4")
      .replace(/--wait --wait-for-jobs --timeout \S+/, "");
    const { stdout } = await run("bash", ["-euo", "pipefail", "-c", script], {
      cwd: directory,
      maxBuffer: 64 * 2 ** 20,
      env: {
        PATH: [dirname(await programPath("helm")), process.env["PATH"]].join(delimiter),
        HOME: directory,
      },
    });
    return parseAllDocuments(stdout)
      .map((document) => document.toJS() as Manifest | null)
      .filter((manifest) => manifest !== null);
  }
  const find = (manifests: Manifest[], kind: string): Manifest | undefined =>
    manifests.find((manifest) => manifest.kind === kind && manifest.metadata.name === "joypod-api");

  it("has only commands with known purposes, so that all are tested", () => {
    const shell = guideBlocks("install").filter(({ language }) => language === "sh");
    expect(new Set(shell.map(({ purpose }) => purpose))).to.deep.equal(new Set(purposes));
    expect(guideSettings()).to.include.members([
      "CHART",
      "JOYPOD_URL",
      "DATABASE_URL",
      "S3_BUCKET",
      "S3_NODE_SECRET_KEY",
    ]);
  });

  it("exposes the API by an Ingress, a load balancer or a port of the nodes", async () => {
    const ingress = find(await rendered("ingress"), "Ingress");
    expect(ingress?.spec?.rules?.[0]?.host).to.equal("play.example.com");
    const [tls, otherTls] = ingress?.spec?.tls ?? [];
    expect(guideBlock("install", "certificate"), "the certificate's Secret").to.contain(
      `secret tls ${tls?.secretName ?? ""} `,
    );
    expect(otherTls).to.be.undefined;
    const balanced = find(await rendered("loadbalancer"), "Service")?.spec;
    expect(balanced?.type).to.equal("LoadBalancer");
    expect(
      balanced?.ports?.map(({ port }) => port),
      "where players' https comes",
    ).to.deep.equal([443]);
    expect(find(await rendered("nodeport"), "Service")?.spec?.type).to.equal("NodePort");
  });

  it("is linked from the README, whose command renders", async () => {
    const [, section = ""] =
      /^## Install it on your cluster\n([^]*?)^## /m.exec(
        readFileSync(join(repositoryRoot, "README.md"), "utf8"),
      ) ?? [];
    expect(section).to.contain("(docs/install.md)");
    const [command = ""] = /^helm upgrade --install [^]*?(?=^```)/m.exec(section) ?? [];
    const manifests = await template(command.replace(/ oci:\S+ /, ` ${chartFolder} `));
    expect(find(manifests, "Service")?.spec?.type).to.equal("NodePort");
  });
});
