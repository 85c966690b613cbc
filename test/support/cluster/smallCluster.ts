import { execFile } from "node:child_process";
import { copyFile, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { programPath, repositoryRoot } from "../processes/programs.ts";
import { mainCluster, stateFolderOf, stateOfMainCluster, valueIn } from "./clusterState.ts";

const run = promisify(execFile);
const timeoutMs = 9 * 60_000;

/** A kind cluster of one control-plane node and some game nodes for one suite alone, beside the one that `make up` brings up, whose images and container engine it takes. */
export class SmallCluster {
  /** Name of the cluster; its nodes are this name with `-control-plane`, `-worker`, `-worker2` and so on. */
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
  static async create(purpose: string, { gameNodes = 1 } = {}): Promise<SmallCluster> {
    const name = `${mainCluster}-${purpose}`;
    await remove(name);
    try {
      return new SmallCluster(name, valueIn(await script(name, "tools/cluster/up.sh", [], { JOYPOD_GAME_NODES: String(gameNodes) }), "WEB_PORT"));
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

  /** Puts the images that another file of references names on the nodes, beside those that are there. */
  async loadImagesOf(file: string): Promise<void> {
    await copyFile(file, join(stateFolderOf(this.name), "images.yaml"));
    await script(this.name, "tools/images/load.sh");
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
  await script(name, "tools/cluster/delete.sh", ["--keep-state"]);
  await rm(stateFolderOf(name), { recursive: true, force: true });
}

/** Runs a script of tools for the cluster, by the path that the main cluster was made by. */
async function script(cluster: string, path: string, args: readonly string[] = [], more: Record<string, string> = {}): Promise<string> {
  const env = {
    ...process.env, JOYPOD_CLUSTER: cluster, JOYPOD_WEB_PORT: "", JOYPOD_ENGINE: stateOfMainCluster("ENGINE"), JOYPOD_FROM_SOURCE: stateOfMainCluster("FROM_SOURCE"), ...more,
  };
  return (await run(join(repositoryRoot, path), args, { env, timeout: timeoutMs, maxBuffer: 16 * 2 ** 20 })).stdout;
}
