import { execFile } from "node:child_process";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { programPath, repositoryRoot } from "../processes/programs.ts";

const run = promisify(execFile);
const timeoutMs = 9 * 60_000;

/** A kind cluster of one control-plane and one game node for one suite alone, beside the one that `make up` brings up. */
export class SmallCluster {
  /** Name of the cluster, and of its folder in the cache. */
  readonly name: string;
  readonly kubeconfig: string;
  /** Where NodePort 30080 is reached from this machine. */
  readonly baseUrl: string;
  readonly #state: string;

  private constructor(name: string, state: string, webPort: string) {
    this.name = name;
    this.#state = state;
    this.kubeconfig = join(state, "kubeconfig");
    this.baseUrl = `http://localhost:${webPort}`;
  }

  /** Makes the cluster of this run that serves the purpose; removes before what a killed run left of it. */
  static async create(purpose: string): Promise<SmallCluster> {
    const name = `${process.env["JOYPOD_CLUSTER"] ?? "joypod"}-${purpose}`;
    await script("tools/cluster/delete.sh", name);
    const webPort = /^WEB_PORT=(\d+)$/m.exec(await script("tools/cluster/up.sh", name))?.[1];
    if (webPort === undefined) throw new Error(`The cluster ${name} has no web port.`);
    return new SmallCluster(name, stateFolderOf(name), webPort);
  }

  /** Puts the images of `make up`'s cluster on the nodes, but for those left out by their value; returns the file of references that Helm reads. */
  async loadImages(without: readonly string[] = []): Promise<string> {
    const source = join(stateFolderOf(process.env["JOYPOD_CLUSTER"] ?? "joypod"), "images.yaml");
    const file = join(this.#state, "images.yaml");
    const lines = (await readFile(source, "utf8")).split("\n").filter((line) => !without.some((value) => line.startsWith(`  ${value}:`)));
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, lines.join("\n"));
    await script("tools/images/load.sh", this.name);
    return file;
  }

  /** Output of a kubectl command. */
  async kubectl(args: readonly string[], input?: string): Promise<string> {
    const running = run(await programPath("kubectl"), ["--kubeconfig", this.kubeconfig, ...args], { timeout: 180_000, maxBuffer: 16 * 2 ** 20 });
    if (input !== undefined) running.child.stdin?.end(input);
    return (await running).stdout;
  }

  /** Removes the cluster with all that is in it. */
  async delete(): Promise<void> {
    await script("tools/cluster/delete.sh", this.name);
    await rm(this.#state, { recursive: true, force: true });
  }
}

function stateFolderOf(name: string): string {
  const { JOYPOD_CACHE, XDG_CACHE_HOME } = process.env;
  return join(JOYPOD_CACHE ?? join(XDG_CACHE_HOME ?? join(homedir(), ".cache"), "joypod"), "clusters", name);
}

async function script(path: string, cluster: string): Promise<string> {
  const env = { ...process.env, JOYPOD_CLUSTER: cluster, JOYPOD_GAME_NODES: "1", JOYPOD_WEB_PORT: "" };
  return (await run(join(repositoryRoot, path), [], { env, timeout: timeoutMs, maxBuffer: 16 * 2 ** 20 })).stdout;
}
