import { execFile } from "node:child_process";
import { copyFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { programPath, repositoryRoot } from "#test/support/processes/programs.ts";
import { clusterFolder, clusterState, mainCluster } from "./clusterState.ts";

const run = promisify(execFile);
const name = `${mainCluster}-upgrade`;
const timeoutMs = 9 * 60_000;

/** A kind cluster with two game nodes, beside the one that the platform under test is in, for releases whose images a test puts on its nodes. */
export class UpgradeCluster {
  readonly kubeconfig = join(clusterFolder(name), "kubeconfig");
  /** Where NodePort 30080 is reached from this machine. */
  readonly baseUrl = `http://localhost:${clusterState(name, "WEB_PORT")}`;
  readonly #kubectl: string;

  private constructor(kubectl: string) {
    this.#kubectl = kubectl;
  }

  /** Makes it; removes before what a killed run left of it. */
  static async create(): Promise<UpgradeCluster> {
    await remove();
    try {
      await script("tools/cluster/up.sh");
      const cluster = new UpgradeCluster(await programPath("kubectl"));
      // The game nodes have room for their sessions and little else.
      await cluster.kubectl(["taint", "nodes", `${name}-control-plane`, "node-role.kubernetes.io/control-plane-"]);
      return cluster;
    } catch (error) {
      await remove();
      throw error;
    }
  }

  /** Puts the images that a file of references names on the nodes, beside those that are there. */
  async loadImages(file: string): Promise<void> {
    await copyFile(file, join(clusterFolder(name), "images.yaml"));
    await script("tools/images/load.sh");
  }

  /** Output of a kubectl command. */
  async kubectl(args: readonly string[]): Promise<string> {
    return (await run(this.#kubectl, ["--kubeconfig", this.kubeconfig, ...args], { timeout: 180_000 })).stdout;
  }

  /** Removes it with all that is in it. */
  async delete(): Promise<void> {
    await remove();
  }
}

async function remove(): Promise<void> {
  // What was found out about this machine holds for the other clusters, too.
  await script("tools/cluster/delete.sh", "--keep-state");
  await rm(clusterFolder(name), { recursive: true, force: true });
}

/** Runs a script of tools for the cluster, by the path that the main cluster was made by. */
async function script(path: string, ...args: string[]): Promise<void> {
  const env = {
    ...process.env, JOYPOD_CLUSTER: name, JOYPOD_GAME_NODES: "2", JOYPOD_WEB_PORT: "", JOYPOD_KUBE_CONTEXT: "",
    JOYPOD_ENGINE: clusterState(mainCluster, "ENGINE"), JOYPOD_FROM_SOURCE: clusterState(mainCluster, "FROM_SOURCE"),
  };
  await run(join(repositoryRoot, path), args, { env, timeout: timeoutMs, maxBuffer: 16 * 2 ** 20 });
}
