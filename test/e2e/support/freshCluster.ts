import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { programPath, repositoryRoot } from "#test/support/processes/programs.ts";

const run = promisify(execFile);

/** A cluster of its own for one test, without anything of ours: one control-plane node, and one game node that others keep off. */
export class FreshCluster {
  readonly kubeconfig: string;
  readonly baseUrl: string;
  readonly #name: string;
  readonly #engine: string;
  readonly #kubectl: string;

  private constructor(name: string, { kubeconfig, baseUrl, engine, kubectl }: { kubeconfig: string; baseUrl: string; engine: string; kubectl: string }) {
    this.#name = name;
    this.kubeconfig = kubeconfig;
    this.baseUrl = baseUrl;
    this.#engine = engine;
    this.#kubectl = kubectl;
  }

  /** Makes it anew: by its name, what a run that was killed left goes first. */
  static async create(name: string): Promise<FreshCluster> {
    await FreshCluster.remove(name);
    const { stdout } = await run(join(repositoryRoot, "tools/cluster/up.sh"), { env: environmentOf(name), timeout: 300_000, maxBuffer: 16 * 2 ** 20 });
    const [kubeconfig, port] = [/^KUBECONFIG=(.+)$/m, /^WEB_PORT=(\d+)$/m].map((line) => line.exec(stdout)?.[1]);
    if (kubeconfig === undefined || port === undefined) throw new Error(`The cluster ${name} did not say where it is: ${stdout}`);
    const engine = /^ENGINE=(\w+)$/m.exec(readFileSync(join(kubeconfig, "../state.env"), "utf8"))?.[1] ?? "podman";
    const cluster = new FreshCluster(name, { kubeconfig, baseUrl: `http://localhost:${port}`, engine, kubectl: await programPath("kubectl") });
    // What is no game runs beside the control plane: the other node is for games alone.
    await cluster.kubectl(["taint", "nodes", `${name}-control-plane`, "node-role.kubernetes.io/control-plane-"]);
    await cluster.kubectl(["taint", "nodes", `${name}-worker`, "games=only:NoSchedule"]);
    return cluster;
  }

  static async remove(name: string): Promise<void> {
    await run(join(repositoryRoot, "tools/cluster/delete.sh"), { env: environmentOf(name), timeout: 120_000 });
  }

  /** The address at which nodes and this machine reach what listens on this machine. */
  async gateway(): Promise<string> {
    const route = await this.#onNode("control-plane", ["ip", "-4", "route", "show", "default"]);
    const address = /^default via (\S+)/.exec(route)?.[1];
    if (address === undefined) throw new Error(`The nodes of the cluster ${this.#name} have no gateway: ${route}`);
    return address;
  }

  /** Makes the nodes trust a registry's CA, as docs/releasing.md says. */
  async trust(host: string, caFile: string): Promise<void> {
    const folder = `/etc/containerd/certs.d/${host}`;
    const hosts = `server = "https://${host}"\n[host."https://${host}"]\n  ca = "${folder}/ca.crt"\n`;
    const script = `mkdir -p ${folder}\ncat >${folder}/ca.crt <<'END'\n${readFileSync(caFile, "utf8")}END\ncat >${folder}/hosts.toml <<'END'\n${hosts}END\n`;
    for (const node of ["control-plane", "worker"]) await this.#onNode(node, ["sh", "-c", script]);
  }

  /** The names of the images that a node has. */
  async imagesOn(node: "control-plane" | "worker"): Promise<string[]> {
    return (await this.#onNode(node, ["ctr", "--namespace", "k8s.io", "images", "ls", "--quiet"])).trim().split("\n");
  }

  /** Output of a kubectl command. */
  async kubectl(args: string[], input?: string): Promise<string> {
    const running = run(this.#kubectl, ["--kubeconfig", this.kubeconfig, ...args], { timeout: 180_000, maxBuffer: 16 * 2 ** 20 });
    if (input !== undefined) running.child.stdin?.end(input);
    return (await running).stdout;
  }

  /** What an admin would look at when something went wrong. */
  async diagnosis(): Promise<string> {
    const looks = [["get", "pods", "-A", "-o", "wide"], ["get", "events", "-A", "--sort-by=.lastTimestamp"], ["-n", "joypod-sessions", "get", "gsess,gcache", "-o", "yaml"]];
    const texts = await Promise.all(looks.map((args) => this.kubectl(args).catch((error: unknown) => String(error))));
    return texts.join("\n");
  }

  async #onNode(node: string, command: string[]): Promise<string> {
    return (await run(this.#engine, ["exec", `${this.#name}-${node}`, ...command], { timeout: 30_000 })).stdout;
  }
}

function environmentOf(name: string): NodeJS.ProcessEnv {
  return { ...process.env, JOYPOD_CLUSTER: name, JOYPOD_GAME_NODES: "1", JOYPOD_WEB_PORT: "", JOYPOD_KUBE_CONTEXT: "" };
}
