import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { copyFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { programPath, repositoryRoot } from "#test/support/processes/programs.ts";
import { JoypodCli } from "../../../tools/seed/cli.ts";
import { clusterFolder, clusterState, mainCluster } from "./clusterState.ts";
import { gatewayOf } from "./nodeContainer.ts";

const run = promisify(execFile);
const timeoutMs = 9 * 60_000;
/** Of processor time, where every container has 1024. */
const gameNodesFirstShares = 2048;

/** The nodes of a fresh cluster that has one game node. */
export type FreshNode = "control-plane" | "worker";

/** What the nodes of a fresh cluster are like. */
export interface FreshClusterOptions {
  /** 1 unless given. */
  gameNodes?: 1 | 2;
  /** Keeps off the game nodes what does not tolerate it; one that Joypod does not know unless given. */
  taint?: string;
  /**
   * Processor time goes to the game nodes first, as they would be machines of their own elsewhere; false
   * unless given.
   */
  areGameNodesFirst?: boolean;
}

/**
 * A kind cluster for one suite alone, beside the one that the platform under test is in, without anything of
 * ours.
 */
export class FreshCluster {
  readonly kubeconfig: string;
  /** Where NodePort 30080 is reached from this machine. */
  readonly baseUrl: string;
  /** The `joypod` command of what is installed there. */
  readonly cli: JoypodCli;
  readonly #name: string;
  readonly #gameNodes: number;
  readonly #kubectl: string;

  private constructor(name: string, gameNodes: number, kubectl: string) {
    this.#name = name;
    this.#gameNodes = gameNodes;
    this.#kubectl = kubectl;
    this.kubeconfig = join(clusterFolder(name), "kubeconfig");
    this.baseUrl = `http://localhost:${clusterState(name, "WEB_PORT")}`;
    this.cli = new JoypodCli(kubectl, this.kubeconfig);
  }

  /** Makes the cluster that serves the purpose; removes before what a killed run left of it. */
  static async create(
    purpose: string,
    { gameNodes = 1, taint = "games=only:NoSchedule", areGameNodesFirst = false }: FreshClusterOptions = {},
  ): Promise<FreshCluster> {
    const name = `${mainCluster}-${purpose}`;
    await remove(name);
    try {
      await script(name, gameNodes, "tools/cluster/up.sh");
      const cluster = new FreshCluster(name, gameNodes, await programPath("kubectl"));
      // What is no game runs beside the control plane: the other nodes have room for games and little else.
      await cluster.kubectl([
        "taint",
        "nodes",
        cluster.node("control-plane"),
        "node-role.kubernetes.io/control-plane-",
      ]);
      if (areGameNodesFirst) await cluster.#putGameNodesFirst();
      await cluster.kubectl([
        "taint",
        "nodes",
        "--selector",
        "!node-role.kubernetes.io/control-plane",
        taint,
      ]);
      return cluster;
    } catch (error) {
      await remove(name);
      throw error;
    }
  }

  /** Removes it with all that is in it. */
  async delete(): Promise<void> {
    await remove(this.#name);
  }

  /** Puts the images that a file of references names on the nodes, beside those that are there. */
  async loadImages(file: string): Promise<void> {
    await copyFile(file, join(clusterFolder(this.#name), "images.yaml"));
    await script(this.#name, this.#gameNodes, "tools/images/load.sh");
  }

  /** The name of a node. */
  node(node: FreshNode): string {
    return `${this.#name}-${node}`;
  }

  /** The address at which nodes and this machine reach what listens on this machine. */
  gateway(): Promise<string> {
    return gatewayOf(this.node("control-plane"));
  }

  /** Makes the nodes trust a registry's CA, as docs/releasing.md says. */
  async trust(host: string, caFile: string): Promise<void> {
    const folder = `/etc/containerd/certs.d/${host}`;
    const hosts = `server = "https://${host}"\n[host."https://${host}"]\n  ca = "${folder}/ca.crt"\n`;
    const commands = `mkdir -p ${folder}\ncat >${folder}/ca.crt <<'END'\n${readFileSync(caFile, "utf8")}END\ncat >${folder}/hosts.toml <<'END'\n${hosts}END\n`;
    for (const node of ["control-plane", "worker"] as const) await this.#onNode(node, ["sh", "-c", commands]);
  }

  /** The names of the images that a node has. */
  async imagesOn(node: FreshNode): Promise<string[]> {
    return (await this.#onNode(node, ["ctr", "--namespace", "k8s.io", "images", "ls", "--quiet"]))
      .trim()
      .split("\n");
  }

  /** Output of a kubectl command. */
  async kubectl(args: readonly string[], input?: string): Promise<string> {
    const running = run(this.#kubectl, ["--kubeconfig", this.kubeconfig, ...args], {
      timeout: 180_000,
      maxBuffer: 16 * 2 ** 20,
    });
    if (input !== undefined) running.child.stdin?.end(input);
    return (await running).stdout;
  }

  /** What an admin would look at when something went wrong. */
  async diagnosis(): Promise<string> {
    const looks = [
      ["get", "nodes,gnode", "--output", "wide"],
      ["get", "pods", "--all-namespaces", "--output", "wide"],
      ["--namespace", "joypod-sessions", "get", "gsess,gcache", "--output", "yaml"],
      ["--namespace", "joypod", "logs", "deploy/joypod-api", "--container", "api", "--tail", "40"],
      ["--namespace", "joypod", "logs", "deploy/joypod-operator", "--tail", "40"],
      ["--namespace", "joypod-nodes", "logs", "daemonset/joypod-node-agent", "--tail", "40"],
      ["get", "events", "--all-namespaces", "--sort-by=.lastTimestamp"],
    ];
    const texts = await Promise.all(
      looks.map(
        async (args) =>
          `$ kubectl ${args.join(" ")}\n${await this.kubectl(args).catch((error: unknown) => String(error))}`,
      ),
    );
    return texts.join("\n");
  }

  async #putGameNodesFirst(): Promise<void> {
    const names = [
      this.node("worker"),
      ...Array.from({ length: this.#gameNodes - 1 }, (_, index) => `${this.node("worker")}${index + 2}`),
    ];
    for (const name of names)
      await run(
        clusterState(this.#name, "ENGINE"),
        ["update", "--cpu-shares", String(gameNodesFirstShares), name],
        { timeout: 30_000 },
      );
  }

  async #onNode(node: FreshNode, command: string[]): Promise<string> {
    return (
      await run(clusterState(this.#name, "ENGINE"), ["exec", this.node(node), ...command], {
        timeout: 30_000,
      })
    ).stdout;
  }
}

async function remove(name: string): Promise<void> {
  // Its path on this machine holds for the clusters that come after it, too.
  await script(name, 1, "tools/cluster/delete.sh", "--keep-state");
  await rm(clusterFolder(name), { recursive: true, force: true });
}

/** Runs a script of tools for the cluster. */
async function script(cluster: string, gameNodes: number, path: string, ...args: string[]): Promise<void> {
  const env = {
    ...process.env,
    JOYPOD_CLUSTER: cluster,
    JOYPOD_GAME_NODES: String(gameNodes),
    JOYPOD_WEB_PORT: "",
    JOYPOD_KUBE_CONTEXT: "",
  };
  await run(join(repositoryRoot, path), args, { env, timeout: timeoutMs, maxBuffer: 16 * 2 ** 20 });
}
