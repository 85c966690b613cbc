import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Browser } from "playwright-core";
import { expect } from "chai";
import { RegisterGameRequest } from "#contracts/http/partners.ts";
import { launchBrowser } from "#test/support/browser/browser.ts";
import { pageScript } from "#test/support/browser/pageScripts.ts";
import { TestCard } from "#test/support/browser/testCard.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { freePort } from "#test/support/processes/childProgram.ts";
import { programPath, repositoryRoot } from "#test/support/processes/programs.ts";
import { startRegistry, type TestRegistry } from "#test/support/registry/registry.ts";
import { JoypodCli } from "../../tools/seed/cli.ts";
import { PartnerClient } from "../../tools/seed/partner.ts";
import { projectVersion } from "../../tools/release/version.ts";
import { FreshCluster } from "./support/freshCluster.ts";
import { GamePage } from "./support/gamePage.ts";
import { gameArchive } from "./support/games.ts";

const run = promisify(execFile);
const version = projectVersion(repositoryRoot);
const clusterName = `${process.env["JOYPOD_CLUSTER"] ?? "joypod"}-registry`;
const slowMs = 420_000;

/** On one node for games alone and another for the rest; idle sessions end as in the other tests. */
const values = {
  stores: { bundled: true },
  imagePullSecrets: [{ name: "registry" }],
  gpu: { resourceName: "", tolerations: [{ key: "games", operator: "Exists", effect: "NoSchedule" }] },
  api: { replicas: 1, idleTimeoutSeconds: 45, service: { type: "NodePort", nodePort: 30080 }, env: { STREAM_FRAMES_PER_SECOND: "30" } },
  operator: { replicas: 1 },
};

describe("a release in a registry", function () {
  this.timeout(slowMs);
  let cluster: FreshCluster;
  let registry: TestRegistry;
  let browser: Browser;
  const folder = mkdtempSync(join(tmpdir(), "joypod-release-"));

  before(async () => {
    cluster = await FreshCluster.create(clusterName);
    registry = await startRegistry(await cluster.gateway(), await freePort());
    await cluster.trust(registry.host, registry.caFile);
    browser = await launchBrowser();
  });
  afterEach(async function () {
    if (this.currentTest?.state === "failed") console.error(await cluster.diagnosis());
  });
  after(async () => {
    await (browser as Browser | undefined)?.close();
    await (registry as TestRegistry | undefined)?.remove();
    rmSync(folder, { recursive: true, force: true });
    await FreshCluster.remove(clusterName);
  });

  it("is made whole and published with the credentials of the auth file", async () => {
    await run(join(repositoryRoot, "tools/release/release.sh"), {
      env: {
        ...process.env, RELEASE_FOLDER: join(folder, "release"), RELEASE_ARCHITECTURES: process.arch === "arm64" ? "arm64" : "amd64", VERSION: version,
        REGISTRY: `${registry.host}/joypod`, REGISTRY_AUTH_FILE: registry.authFile, REGISTRY_CERT_DIR: join(registry.caFile, ".."),
      },
      timeout: slowMs, maxBuffer: 16 * 2 ** 20,
    });
    await run("sha256sum", ["--check", "--quiet", "SHA256SUMS"], { cwd: join(folder, "release") });
    const { stdout: help } = await run(process.execPath, [join(folder, "release/joypod"), "--help"], { env: { XDG_CACHE_HOME: join(folder, "cache") } });
    expect(help).to.contain("Joypod's administration").and.contain("partner");
    expect([await registry.status(false), await registry.status(true)], "without and with the password").to.deep.equal([401, 200]);
  });

  it("is installed by one helm command on nodes that have nothing of it, and plays", async () => {
    for (const node of ["control-plane", "worker"] as const) expect((await cluster.imagesOn(node)).join("\n")).to.not.match(/joypod\/(?!local-path-provisioner)/);
    await cluster.kubectl(["create", "namespace", "joypod"]);
    await cluster.kubectl(["label", "namespace", "joypod", "pod-security.kubernetes.io/enforce=restricted"]);
    await cluster.kubectl(["-n", "joypod", "create", "secret", "docker-registry", "registry", `--from-file=.dockerconfigjson=${registry.authFile}`]);
    const helm = run(await programPath("helm"), [
      "install", "joypod", `oci://${registry.host}/joypod/charts/joypod`, "--version", version, "--ca-file", registry.caFile, "--registry-config", registry.authFile,
      "--kubeconfig", cluster.kubeconfig, "--namespace", "joypod", "--values", "-", "--set", `api.baseUrl=${cluster.baseUrl}`, "--wait", "--timeout", "5m",
    ], { timeout: 330_000, maxBuffer: 16 * 2 ** 20 });
    helm.child.stdin?.end(JSON.stringify(values));
    await helm;
    await expectPinned();

    const { title, player } = await publishGameAndPlayer();
    const context = await browser.newContext({ viewport: { width: 1280, height: 720 } });
    await context.addInitScript(await pageScript("probe"));
    const game = new GamePage(await context.newPage());
    await game.signIn(cluster.baseUrl, player);
    await game.openGame(title);
    await game.startNewGame(1);
    const card = new TestCard(game);
    await card.showsPresses(0, 60_000);
    await game.pressKey("Space", 2);
    await card.showsPresses(2, 60_000);
    const pulls = await cluster.kubectl(["-n", "joypod-sessions", "get", "events", "--field-selector", "reason=Pulled", "-o", "jsonpath={.items[*].message}"]);
    expect(pulls, "the session's images were on its node").to.contain("already present on machine").and.not.contain("Successfully pulled");
    await game.stop();
  });

  /** Every container runs what the registry has, by its digest. */
  async function expectPinned(): Promise<void> {
    const images = await cluster.kubectl(["get", "pods", "-A", "-l", "app.kubernetes.io/part-of=joypod", "-o", "jsonpath={range .items[*].spec.containers[*]}{.image}{'\\n'}{end}"]);
    const names = images.trim().split("\n");
    expect(names.length).to.be.greaterThan(7);
    for (const image of names) expect(image).to.match(new RegExp(`^${registry.host}/joypod/[a-z-]+:${version}@sha256:[0-9a-f]{64}$`));
  }

  async function publishGameAndPlayer(): Promise<{ title: string; player: { name: string; email: string; password: string } }> {
    const cli = new JoypodCli(await programPath("kubectl"), cluster.kubeconfig);
    const player = { name: "Player", email: "player@example.com", password: randomBytes(12).toString("base64url") };
    await cli.createUser(player.email, player.name, player.password);
    await cli.createPartner("Studio");
    const partner = new PartnerClient(cluster.baseUrl, await cli.createPartnerKey("Studio"));
    const slug = "testcard";
    const metadata = RegisterGameRequest.parse({ ...JSON.parse(readFileSync(join(repositoryRoot, "games/testcard/game.json"), "utf8")) as object, slug });
    await partner.register(metadata);
    await partner.upload(slug, await gameArchive("testcard"));
    await eventually(async () => {
      const { totalServers, pendingSync } = await partner.sync(slug);
      return totalServers === 1 && pendingSync === 0;
    }, { timeoutMs: 60_000, intervalMs: 500, what: "the game to be on the game node" });
    return { title: metadata.title, player };
  }
});
