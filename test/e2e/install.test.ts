import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { SmallCluster } from "#test/support/cluster/smallCluster.ts";
import { guideSettings, installGuide } from "#test/support/fixtures/installGuide.ts";
import { programPath, repositoryRoot } from "#test/support/processes/programs.ts";
import { startOwnStores, type OwnStores } from "./support/ownStores.ts";

const run = promisify(execFile);

/** What of the guide is run, in its order; the others are for other places: a registry, a NAT, other ways of exposure, a cluster that enforces NetworkPolicies. */
const followed = ["settings", "namespace", "install", "exposure nodeport", "check"];

describe("the install guide", function () {
  this.timeout(9 * 60_000);
  let cluster: SmallCluster;
  let created: SmallCluster | undefined;
  let settings: Record<string, string>;
  const directory = mkdtempSync(join(tmpdir(), "joypod-install-"));

  before(async () => {
    cluster = created = await SmallCluster.create("install");
    const images = await cluster.loadImages(["turn"]);
    settings = settingsFor(cluster, images, await startOwnStores(cluster, images));
  });
  after(async () => {
    rmSync(directory, { recursive: true });
    await created?.delete();
  });

  /** Runs commands of the guide as the admin, in a shell of their own. */
  async function follow(purposes: readonly string[]): Promise<string> {
    const blocks = installGuide().filter(({ language, purpose }) => language === "sh" && purposes.includes(purpose));
    const given = Object.entries(settings).map(([name, value]) => `export ${name}='${value}'`);
    const script = blocks.flatMap(({ purpose, text }) => purpose === "settings" ? [text, ...given] : [text]).join("\n");
    const programs = await Promise.all(["kubectl", "helm"].map(programPath));
    const { stdout } = await run("bash", ["-euo", "pipefail", "-c", script], {
      cwd: directory, timeout: 8 * 60_000, maxBuffer: 16 * 2 ** 20,
      env: { PATH: [...programs.map((path) => dirname(path)), process.env["PATH"]].join(delimiter), HOME: directory, KUBECONFIG: cluster.kubeconfig },
    });
    return stdout;
  }

  it("leads from a cluster and three stores to a game that plays, from top to bottom as written", async () => {
    expect(Object.keys(settings), "settings that the guide leaves to the admin").to.have.members(guideSettings());
    const output = await follow(followed).catch(async (error: unknown) => {
      throw new Error(`${String(error)}\n${await diagnosis(cluster)}`, { cause: error });
    });
    expect(output).to.match(/gamenode\.joypod\.dev\/\S+ condition met/).and.match(/gamesession\.joypod\.dev\/\S+ condition met/).and.match(/gamesession\S* "\S+" deleted/);
    // Nothing bundled stands in for the admin's own stores.
    expect(await cluster.kubectl(["--namespace", "joypod", "get", "statefulsets", "--output", "name"])).to.equal("");
  });

  it("says whether the cluster enforces NetworkPolicies, which this one does not", async () => {
    const refused = await follow(["policies"]).then(() => "", (error: unknown) => error instanceof Error ? `${error.message}\n${Reflect.get(error, "stdout")}` : String(error));
    expect(refused).to.contain("This cluster does not enforce NetworkPolicies");
  });
});

function settingsFor({ baseUrl, name }: SmallCluster, images: string, stores: OwnStores): Record<string, string> {
  return {
    CHART: join(repositoryRoot, "charts/joypod"), IMAGES: images, JOYPOD_URL: baseUrl, GAME_NODES: `${name}-worker`, GPU_RESOURCE: "", NODE_ROOT: "/var/lib/joypod",
    DATABASE_URL: stores.databaseUrl, REDIS_URL: stores.redisUrl, S3_ENDPOINT: stores.s3Endpoint, S3_REGION: "us-east-1", S3_BUCKET: "games-of-an-admin",
    S3_ADMIN_ACCESS_KEY: stores.accessKey, S3_ADMIN_SECRET_KEY: stores.secretKey, S3_ACCESS_KEY: stores.accessKey, S3_SECRET_KEY: stores.secretKey,
    S3_NODE_ACCESS_KEY: stores.accessKey, S3_NODE_SECRET_KEY: stores.secretKey, PLAYER_EMAIL: "admin@example.com",
  };
}

/** What an admin would look at when something went wrong. */
async function diagnosis(cluster: SmallCluster): Promise<string> {
  const looks = [
    ["get", "nodes,gnode", "--output", "wide"], ["get", "pods", "--all-namespaces", "--output", "wide"], ["--namespace", "joypod-sessions", "describe", "gsess"],
    ["--namespace", "joypod", "logs", "deploy/joypod-api", "--container", "api", "--tail", "40"], ["--namespace", "joypod", "logs", "deploy/joypod-operator", "--tail", "40"],
    ["--namespace", "joypod-nodes", "logs", "daemonset/joypod-node-agent", "--tail", "40"], ["events", "--all-namespaces"],
  ];
  const texts = await Promise.all(looks.map(async (args) => `$ kubectl ${args.join(" ")}\n${await cluster.kubectl(args).catch((error: unknown) => String(error))}`));
  return texts.join("\n");
}
