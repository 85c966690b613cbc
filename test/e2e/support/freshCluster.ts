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
/** Processor shares; the default of containers is 1024. */
const gameNodesFirstShares = 2048;

/** Nodes of a fresh cluster with one game node. */
export type FreshNode = "control-plane" | "worker";

/** Options for the nodes of a fresh cluster. */
export interface FreshClusterOptions {
  /** Default: 1. */
  gameNodes?: 1 | 2;
  /** Taint of the game nodes. Default: one that Joypod does not know. */
  taint?: string;
  /** Gives game nodes priority for processor time, as if they were separate machines. Default: false. */
  areGameNodesFirst?: boolean;
}

/** A kind cluster for one suite, separate from that of the platform under test, without Joypod. */
export class FreshCluster {
  readonly kubeconfig: string;
  /** URL of NodePort 30080 on this machine. */
  readonly baseUrl: string;
  /** The `joypod` command of the platform installed there. */
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

  /** Creates the cluster for the purpose. First removes one that a killed run left. */
  static async create(
    purpose: string,
    { gameNodes = 1, taint = "games=only:NoSchedule", areGameNodesFirst = false }: FreshClusterOptions = {},
  ): Promise<FreshCluster> {
    const name = `${mainCluster}-${purpose}`;
    await remove(name);
    try {
      await script(name, gameNodes, "tools/cluster/up.sh");
      const cluster = new FreshCluster(name, gameNodes, await programPath("kubectl"));
      // Other pods run on the control-plane node, because the other nodes have little room except for games.
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

  /** Deletes the cluster. */
  async delete(): Promise<void> {
    await remove(this.#name);
  }

  /** Loads the images in a file of references into the nodes, in addition to existing images. */
  async loadImages(file: string): Promise<void> {
    await copyFile(file, join(clusterFolder(this.#name), "images.yaml"));
    await script(this.#name, this.#gameNodes, "tools/images/load.sh");
  }

  /** Returns the name of a node. */
  node(node: FreshNode): string {
    return `${this.#name}-${node}`;
  }

  /** Returns the address at which nodes reach this machine. */
  gateway(): Promise<string> {
    return gatewayOf(this.node("control-plane"));
  }

  /** Makes the nodes trust a registry's CA, as described in docs/releasing.md. */
  async trust(host: string, caFile: string): Promise<void> {
    const folder = `/etc/containerd/certs.d/${host}`;
    const hosts = `server = "https://${host}"\n[host."https://${host}"]\n  ca = "${folder}/ca.crt"\n`;
    const commands = `mkdir -p ${folder}\ncat >${folder}/ca.crt <<'END'\n${readFileSync(caFile, "utf8")}END\ncat >${folder}/hosts.toml <<'END'\n${hosts}END\n`;
    for (const node of ["control-plane", "worker"] as const) await this.#onNode(node, ["sh", "-c", commands]);
  }

  /** Returns the names of a node's images. */
  async imagesOn(node: FreshNode): Promise<string[]> {
    return (await this.#onNode(node, ["ctr", "--namespace", "k8s.io", "images", "ls", "--quiet"]))
      .trim()
      .split("\n");
  }

  /** Runs kubectl and returns its output. */
  async kubectl(args: readonly string[], input?: string): Promise<string> {
    const running = run(this.#kubectl, ["--kubeconfig", this.kubeconfig, ...args], {
      timeout: 180_000,
      maxBuffer: 16 * 2 ** 20,
    });
    if (input !== undefined) running.child.stdin?.end(input);
    return (await running).stdout;
  }

  /** Returns pods, events and logs for troubleshooting. */
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
  // With --keep-state, because later clusters use the same detected mode.
  await script(name, 1, "tools/cluster/delete.sh", "--keep-state");
  await rm(clusterFolder(name), { recursive: true, force: true });
}

/** Runs a script of tools/ for the cluster. */
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
