import { execFile } from "node:child_process";
import { readFile, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { programPath, repositoryRoot } from "../processes/programs.ts";

const run = promisify(execFile);
const timeoutMs = 9 * 60_000;
/** The cluster of `make up`, whose images and container engine the small one takes. */
const mainCluster = process.env["JOYPOD_CLUSTER"] ?? "joypod";

/** A kind cluster of one control-plane and one game node for one suite alone, beside the one that `make up` brings up. */
export class SmallCluster {
  /** Name of the cluster; its nodes are this name with `-control-plane` and `-worker`. */
  readonly name: string;
  readonly kubeconfig: string;
  /** Where NodePort 30080 is reached from this machine. */
  readonly baseUrl: string;

  private constructor(name: string, webPort: string) {
    this.name = name;
    this.kubeconfig = join(stateFolderOf(name), "kubeconfig");
    this.baseUrl = `http://localhost:${webPort}`;
  }

  /** Makes the cluster that serves the purpose; removes before what a killed run left of it. */
  static async create(purpose: string): Promise<SmallCluster> {
    const name = `${mainCluster}-${purpose}`;
    await remove(name);
    try {
      return new SmallCluster(name, valueIn(await script(name, "tools/cluster/up.sh"), "WEB_PORT"));
    } catch (error) {
      await remove(name);
      throw error;
    }
  }

  /** Puts the images of `make up` on the nodes, but for those left out by their value; returns the file of references that Helm reads. */
  async loadImages(without: readonly string[] = []): Promise<string> {
    const images = await readFile(join(stateFolderOf(mainCluster), "images.yaml"), "utf8");
    const file = join(stateFolderOf(this.name), "images.yaml");
    await writeFile(file, images.split("\n").filter((line) => !without.some((value) => line.startsWith(`  ${value}:`))).join("\n"));
    await script(this.name, "tools/images/load.sh");
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
    await remove(this.name);
  }
}

async function remove(name: string): Promise<void> {
  await script(name, "tools/cluster/delete.sh", "--keep-state");
  await rm(stateFolderOf(name), { recursive: true, force: true });
}

function stateFolderOf(name: string): string {
  const { JOYPOD_CACHE, XDG_CACHE_HOME } = process.env;
  return join(JOYPOD_CACHE ?? join(XDG_CACHE_HOME ?? join(homedir(), ".cache"), "joypod"), "clusters", name);
}

function valueIn(text: string, name: string): string {
  const value = new RegExp(`^${name}=(.+)$`, "m").exec(text)?.[1];
  if (value === undefined) throw new Error(`There is no ${name} in: ${text}`);
  return value;
}

/** Runs a script of tools for the cluster, by the path that the main cluster was made by. */
async function script(cluster: string, path: string, ...args: string[]): Promise<string> {
  const state = await readFile(join(stateFolderOf(mainCluster), "state.env"), "utf8");
  const env = {
    ...process.env, JOYPOD_CLUSTER: cluster, JOYPOD_GAME_NODES: "1", JOYPOD_WEB_PORT: "", JOYPOD_ENGINE: valueIn(state, "ENGINE"), JOYPOD_FROM_SOURCE: valueIn(state, "FROM_SOURCE"),
  };
  return (await run(join(repositoryRoot, path), args, { env, timeout: timeoutMs, maxBuffer: 16 * 2 ** 20 })).stdout;
}
