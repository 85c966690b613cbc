import { execFile, spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { promisify } from "node:util";
import { hash } from "bcryptjs";
import { gameNodeKind, type GameNode } from "#contracts/crd/gameNode.ts";
import { gameSessionKind, type GameSession } from "#contracts/crd/gameSession.ts";
import { pods, type Pod } from "#kube/api/builtin.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { KubeTransport } from "#kube/client/transport.ts";
import { programPath } from "#test/support/processes/programs.ts";
import { JoypodCli } from "../../../tools/seed/cli.ts";
import { clusterFolder, clusterState, mainCluster } from "./clusterState.ts";

const run = promisify(execFile);

export const releaseNamespace = "joypod";
export const nodesNamespace = "joypod-nodes";
export const sessionsNamespace = "joypod-sessions";

/** The namespace of a program's pods. */
export function namespaceOf(component: string): string {
  return component === "node-agent" ? nodesNamespace : releaseNamespace;
}

/** The least that `joypod user import` takes. */
const importedCost = 10;
const playersAtOnce = 20;

export interface Player {
  name: string;
  email: string;
  password: string;
}

/** The installed platform under test: `make up` made it in the cluster that JOYPOD_CLUSTER names. */
export class Platform {
  /** Where players find the web page. */
  readonly baseUrl: string;
  readonly kubeconfig: string;
  /** The `joypod` command. */
  readonly cli: JoypodCli;
  readonly #kubectl: string;
  /** Those that nobody has been given yet. */
  readonly #players: Player[] = [];
  #importing: Promise<void> | undefined;
  readonly gameSessions: ResourceClient<GameSession>;
  readonly gameNodes: ResourceClient<GameNode>;
  readonly pods: ResourceClient<Pod>;

  private constructor(baseUrl: string, kubeconfig: string, kubectl: string) {
    this.baseUrl = baseUrl;
    this.kubeconfig = kubeconfig;
    this.#kubectl = kubectl;
    this.cli = new JoypodCli(kubectl, kubeconfig);
    const transport = KubeTransport.fromFile(kubeconfig);
    this.gameSessions = new ResourceClient(transport, gameSessionKind);
    this.gameNodes = new ResourceClient(transport, gameNodeKind);
    this.pods = new ResourceClient(transport, pods);
  }

  static async open(): Promise<Platform> {
    return new Platform(
      `http://localhost:${clusterState(mainCluster, "WEB_PORT")}`,
      join(clusterFolder(mainCluster), "kubeconfig"),
      await programPath("kubectl"),
    );
  }

  /** The platform of another cluster. */
  static async at({ baseUrl, kubeconfig }: Pick<Platform, "baseUrl" | "kubeconfig">): Promise<Platform> {
    return new Platform(baseUrl, kubeconfig, await programPath("kubectl"));
  }

  /** Output of a node script in the API's container: what an ordinary pod can do. */
  inApiPod(script: string, ...args: string[]): Promise<string> {
    return this.kubectl([
      "-n",
      releaseNamespace,
      "exec",
      "deploy/joypod-api",
      "-c",
      "api",
      "--",
      "node",
      "-e",
      script,
      ...args,
    ]);
  }

  /** Output of a kubectl command. */
  async kubectl(args: string[], input?: string): Promise<string> {
    const running = run(this.#kubectl, ["--kubeconfig", this.kubeconfig, ...args], {
      timeout: 180_000,
      maxBuffer: 16 * 2 ** 20,
    });
    if (input !== undefined) running.child.stdin?.end(input);
    return (await running).stdout;
  }

  /** A kubectl command that goes on until it is ended. */
  startKubectl(args: readonly string[]): ChildProcessWithoutNullStreams {
    return spawn(this.#kubectl, ["--kubeconfig", this.kubeconfig, ...args]);
  }

  /** Ends a program's pods as a crash would; returns their names, and fails where there are none. */
  async killPods(component: "operator" | "node-agent"): Promise<string[]> {
    const selector = `app.kubernetes.io/component=${component}`;
    const printed = await this.kubectl([
      "-n",
      namespaceOf(component),
      "delete",
      "pod",
      "-l",
      selector,
      "--grace-period=0",
      "--force",
      "-o",
      "name",
    ]);
    const names = [...printed.matchAll(/^pod\/(.+)$/gm)].map(([, name = ""]) => name);
    if (names.length === 0) throw new Error(`There was no pod of the ${component} to end.`); // kubectl takes that for a success.
    return names;
  }

  /** A player of this test alone. */
  async createPlayer(): Promise<Player> {
    // The command takes a second, for one player as for many.
    let player = this.#players.pop();
    while (player === undefined) {
      await (this.#importing ??= this.#importPlayers().finally(() => (this.#importing = undefined)));
      player = this.#players.pop();
    }
    return player;
  }

  async #importPlayers(): Promise<void> {
    const password = randomBytes(12).toString("base64url");
    const passwordHash = await hash(password, importedCost);
    const players = Array.from({ length: playersAtOnce }, (): Player => {
      const id = randomBytes(5).toString("hex");
      return { name: `Player ${id}`, email: `player-${id}@example.com`, password };
    });
    await this.cli.importUsers(players.map(({ name, email }) => ({ name, email, passwordHash })));
    this.#players.push(...players);
  }

  /** The player's newest session, or undefined. */
  async gameSessionOf(userId: string): Promise<GameSession | undefined> {
    const { items } = await this.gameSessions.list({
      namespace: sessionsNamespace,
      fieldSelector: `spec.userId=${userId}`,
    });
    return items.toSorted((a, b) =>
      b.metadata.creationTimestamp.localeCompare(a.metadata.creationTimestamp),
    )[0];
  }

  /** What an admin would look at when something went wrong. */
  async diagnosis(): Promise<string> {
    const looks = [
      ["get", "nodes,gnode", "-o", "wide"],
      ["-n", releaseNamespace, "get", "pods", "-o", "wide"],
      ["-n", nodesNamespace, "get", "pods", "-o", "wide"],
      ["-n", sessionsNamespace, "get", "gsess,gcache,pods", "-o", "wide"],
      ["-n", sessionsNamespace, "events"],
      ["-n", releaseNamespace, "logs", "deploy/joypod-operator", "--tail", "60"],
      ["-n", nodesNamespace, "logs", "daemonset/joypod-node-agent", "--tail", "40"],
      ["-n", releaseNamespace, "logs", "deploy/joypod-api", "-c", "api", "--tail", "40"],
    ];
    const texts = await Promise.all(
      looks.map(
        async (args) =>
          `$ kubectl ${args.join(" ")}\n${await this.kubectl(args).catch((error: unknown) => String(error))}`,
      ),
    );
    return texts.join("\n");
  }
}

let opened: Promise<Platform> | undefined;

/** The run's one platform, or the one that a suite with a cluster of its own has named. */
export function platform(): Promise<Platform> {
  return (opened ??= Platform.open());
}

/** Makes another platform the one that is meant, until it is called with none. */
export function usePlatform(other: Platform | undefined): void {
  opened = other && Promise.resolve(other);
}
