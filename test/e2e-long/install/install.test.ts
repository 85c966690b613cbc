import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { Browser } from "playwright-core";
import { expect } from "chai";
import { launchBrowser, ordinaryWindow } from "#test/support/browser/browser.ts";
import { pageScript } from "#test/support/browser/pageScripts.ts";
import { TestCard } from "#test/support/browser/testCard.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { guideSettings } from "#test/support/fixtures/guides.ts";
import { freePort } from "#test/support/processes/childProgram.ts";
import { repositoryRoot } from "#test/support/processes/programs.ts";
import { startRegistry, type TestRegistry } from "#test/support/registry/registry.ts";
import { projectVersion } from "../../../tools/release/version.ts";
import { FreshCluster } from "#test/e2e/support/freshCluster.ts";
import { GamePage } from "#test/e2e/support/gamePage.ts";
import { gameArchive, publishGame } from "#test/e2e/support/games.ts";
import { GuidedAdmin } from "#test/e2e/support/guidedAdmin.ts";
import { startOwnStores } from "#test/e2e/support/ownStores.ts";

const run = promisify(execFile);
const version = projectVersion(repositoryRoot);
const slowMs = 420_000;
/** Module that makes Node call itself by an older version. */
const olderNode = `data:text/javascript,Object.defineProperty(process,"versions",{value:{...process.versions,node:"20.20.2"}})`;

describe("the install guide, with a separate registry and cluster,", function () {
  this.timeout(slowMs);
  const folder = mkdtempSync(join(tmpdir(), "joypod-install-"));
  const release = join(folder, "release");
  let cluster: FreshCluster;
  let registry: TestRegistry;
  let browser: Browser;
  let admin: GuidedAdmin;
  /** What nodes had before anything was pulled. */
  let imagesBefore: string;
  /** Each is done once, for the test that needs it first. */
  let published: Promise<unknown> | undefined;
  let installed: Promise<string> | undefined;

  before(async () => {
    cluster = await FreshCluster.create("install");
    registry = await startRegistry(await cluster.gateway(), await freePort());
    await cluster.trust(registry.host, registry.caFile);
    imagesBefore = (
      await Promise.all((["control-plane", "worker"] as const).map((node) => cluster.imagesOn(node)))
    )
      .flat()
      .join("\n");
    const env = { RELEASE_FOLDER: release, REGISTRY_CERT_DIR: dirname(registry.caFile) };
    admin = new GuidedAdmin("install", {
      folder,
      kubeconfig: cluster.kubeconfig,
      caFile: registry.caFile,
      env,
      timeoutMs: slowMs,
    });
    browser = await launchBrowser();
  });
  afterEach(async function () {
    if (this.currentTest?.state === "failed") console.error(await cluster.diagnosis());
  });
  after(async () => {
    await (browser as Browser | undefined)?.close();
    await (registry as TestRegistry | undefined)?.remove();
    rmSync(folder, { recursive: true, force: true });
    await (cluster as FreshCluster | undefined)?.delete();
  });

  const publish = (): Promise<unknown> =>
    (published ??= (async () => {
      Object.assign(admin.settings, {
        CHECKOUT: repositoryRoot,
        REGISTRY: `${registry.host}/joypod`,
        REGISTRY_AUTH_FILE: registry.authFile,
        HELM_REGISTRY_CONFIG: registry.authFile,
        RELEASE_ARCHITECTURES: process.arch === "arm64" ? "arm64" : "amd64",
        CHART: `oci://${registry.host}/joypod/charts/joypod`,
      });
      return admin.follow(["images"]);
    })());

  const install = (): Promise<string> =>
    (installed ??= (async () => {
      await publish();
      const stores = await startOwnStores(cluster, {
        registry: `${registry.host}/joypod`,
        version,
        authFile: registry.authFile,
      });
      Object.assign(admin.settings, {
        JOYPOD_URL: cluster.baseUrl,
        GAME_NODES: cluster.node("worker"),
        GAME_NODE_TAINTS: "[{ key: games, operator: Exists, effect: NoSchedule }]",
        GPU_RESOURCE: "",
        NODE_ROOT: "/var/lib/joypod",
        DATABASE_URL: stores.databaseUrl,
        REDIS_URL: stores.redisUrl,
        S3_ENDPOINT: stores.s3Endpoint,
        S3_REGION: "us-east-1",
        S3_BUCKET: "games-of-an-admin",
        S3_ADMIN_ACCESS_KEY: stores.accessKey,
        S3_ADMIN_SECRET_KEY: stores.secretKey,
        S3_ACCESS_KEY: stores.accessKey,
        S3_SECRET_KEY: stores.secretKey,
        S3_NODE_ACCESS_KEY: stores.accessKey,
        S3_NODE_SECRET_KEY: stores.secretKey,
        PLAYER_EMAIL: "admin@example.com",
      });
      return admin.follow(["namespace", "install", "exposure nodeport", "helm", "check"]);
    })());

  it("starts with a complete release that is published with the credentials of the auth file", async () => {
    await publish();
    await run("sha256sum", ["--check", "--quiet", "SHA256SUMS"], { cwd: release });
    const { stdout: help } = await run(process.execPath, [join(release, "joypod"), "--help"], {
      env: { XDG_CACHE_HOME: join(folder, "cache") },
    });
    expect(help).to.contain("Joypod's administration").and.contain("partner");
    for (const command of ["joypod", "kubectl-joypod"]) {
      const error: unknown = await run(process.execPath, [
        "--import",
        olderNode,
        join(release, command),
        "--help",
      ]).catch((reason: unknown) => reason);
      expect(error, command)
        .to.have.property("stderr")
        .that.matches(/^(joypod|kubectl joypod) needs Node\.js 24 or later, but this is 20\.20\.2\.\n$/);
    }
    expect(
      [await registry.status(false), await registry.status(true)],
      "without and with the password",
    ).to.deep.equal([401, 200]);
  });

  it("leads from a cluster and three stores to a running game when followed literally", async () => {
    const output = await install();
    expect(Object.keys(admin.settings), "settings that the guide leaves to the admin").to.have.members(
      guideSettings(),
    );
    expect(output)
      .to.match(/gamenode\.joypod\.dev\/\S+ condition met/)
      .and.match(/gamesession\.joypod\.dev\/\S+ condition met/)
      .and.match(/gamesession\S* "\S+" deleted/);
    // Nothing bundled stands in for the admin's own stores.
    expect(
      await cluster.kubectl(["--namespace", "joypod", "get", "statefulsets", "--output", "name"]),
    ).to.equal("");
  });

  it("needs one helm command on nodes without images of the release to play a game there", async () => {
    await install();
    expect(imagesBefore).to.not.match(/joypod\/(?!local-path-provisioner)/);
    await expectPinned();

    const [title, player] = [
      "Test Card",
      { name: "Player", email: "player@example.com", password: randomBytes(12).toString("base64url") },
    ];
    await cluster.cli.createUser(player.email, player.name, player.password);
    expect(
      await publishGame("testcard", { slug: "testcard", title }, await gameArchive("testcard"), cluster),
      "nodes that hold the game",
    ).to.equal(1);
    const context = await browser.newContext({ viewport: ordinaryWindow });
    await context.addInitScript(await pageScript("probe"));
    const game = new GamePage(await context.newPage());
    await game.signIn(cluster.baseUrl, player);
    await game.openGame(title);
    await game.startNewGame(1);
    const card = new TestCard(game);
    await card.showsPresses(0, 60_000);
    await game.pressKey("Space", 2);
    await card.showsPresses(2, 60_000);
    const pulls = await cluster.kubectl([
      "-n",
      "joypod-sessions",
      "get",
      "events",
      "--field-selector",
      "reason=Pulled",
      "-o",
      "jsonpath={.items[*].message}",
    ]);
    expect(pulls, "the session's images were on its node")
      .to.contain("already present on machine")
      .and.not.contain("Successfully pulled");
    await game.stop();
  });

  it("reports the renderer of its game node, and that this cluster does not enforce NetworkPolicies", async () => {
    await install();
    const refused = await admin.follow(["policies"]).then(
      () => "",
      (error: unknown) =>
        error instanceof Error ? `${error.message}\n${Reflect.get(error, "stdout")}` : String(error),
    );
    expect(refused)
      .to.contain(`${cluster.node("worker")}: sessions render with llvmpipe`)
      .and.contain("This cluster does not enforce NetworkPolicies");
  });

  it("has other ways of exposure, which the cluster also accepts", async () => {
    await install();
    await run(
      "openssl",
      [
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-subj",
        "/CN=play.example.com",
        "-keyout",
        "play.key",
        "-out",
        "play.crt",
      ],
      { cwd: folder },
    );
    await admin.follow(["certificate"]);
    for (const [way, made] of [
      ["ingress", /^kind: Ingress$/m],
      ["loadbalancer", /^ {2}type: LoadBalancer$/m],
    ] as const) {
      const dryRun = (commands: string): string =>
        commands.replace("helm upgrade --install", "helm upgrade --install --dry-run=server");
      expect(await admin.follow([`exposure ${way}`, "helm"], dryRun), way).to.match(made);
    }
  });

  it("sets the address of a node behind a NAT", async () => {
    await install();
    const node = cluster.node("worker");
    await admin.follow(["nat"], (commands) => commands.replace("node NODE", `node ${node}`));
    try {
      await eventually(
        async () =>
          (await cluster.kubectl(["get", "gnode", node, "--output", "yaml"])).includes("203.0.113.7"),
        { timeoutMs: 30_000, what: "the operator to know of the address" },
      );
    } finally {
      await cluster.kubectl(["annotate", "node", node, "joypod.dev/announce-address-"]);
    }
  });

  /** Every container runs what the registry has, by its digest. */
  async function expectPinned(): Promise<void> {
    const images = await cluster.kubectl([
      "get",
      "pods",
      "-A",
      "-l",
      "app.kubernetes.io/part-of=joypod",
      "-o",
      "jsonpath={range .items[*].spec.containers[*]}{.image}{'\\n'}{end}",
    ]);
    const names = images.trim().split("\n");
    expect(names.length).to.be.greaterThan(7);
    for (const image of names)
      expect(image).to.match(new RegExp(`^${registry.host}/joypod/[a-z-]+:${version}@sha256:[0-9a-f]{64}$`));
  }
});
