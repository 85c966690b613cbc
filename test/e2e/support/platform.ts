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

/** Returns the namespace of a program's pods. */
export function namespaceOf(component: string): string {
  return component === "node-agent" ? nodesNamespace : releaseNamespace;
}

/** The lowest bcrypt cost that `joypod user import` accepts. */
const importedCost = 10;
const playersAtOnce = 20;

export interface Player {
  name: string;
  email: string;
  password: string;
}

/** The platform under test, which `make up` installed in the cluster JOYPOD_CLUSTER. */
export class Platform {
  /** URL of the web page. */
  readonly baseUrl: string;
  readonly kubeconfig: string;
  /** The `joypod` command. */
  readonly cli: JoypodCli;
  readonly #kubectl: string;
  /** Players that are not used yet. */
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

  /** Returns the platform of another cluster. */
  static async at({ baseUrl, kubeconfig }: Pick<Platform, "baseUrl" | "kubeconfig">): Promise<Platform> {
    return new Platform(baseUrl, kubeconfig, await programPath("kubectl"));
  }

  /** Runs a Node script in the API's container, as an ordinary pod, and returns its output. */
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

  /** Runs kubectl and returns its output. */
  async kubectl(args: string[], input?: string): Promise<string> {
    const running = run(this.#kubectl, ["--kubeconfig", this.kubeconfig, ...args], {
      timeout: 180_000,
      maxBuffer: 16 * 2 ** 20,
    });
    if (input !== undefined) running.child.stdin?.end(input);
    return (await running).stdout;
  }

  /** Starts a kubectl command that runs until it is killed. */
  startKubectl(args: readonly string[]): ChildProcessWithoutNullStreams {
    return spawn(this.#kubectl, ["--kubeconfig", this.kubeconfig, ...args]);
  }

  /**
   * Kills a program's pods as in a crash, and returns their names.
   *
   * @throws If there are none.
   */
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

  /** Returns a player that only this test uses. */
  async createPlayer(): Promise<Player> {
    // The command takes a second for any number of players, so several are created at a time.
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

  /** Returns the player's newest session, or undefined. */
  async gameSessionOf(userId: string): Promise<GameSession | undefined> {
    const { items } = await this.gameSessions.list({
      namespace: sessionsNamespace,
      fieldSelector: `spec.userId=${userId}`,
    });
    return items.toSorted((a, b) =>
      b.metadata.creationTimestamp.localeCompare(a.metadata.creationTimestamp),
    )[0];
  }

  /** Returns pods, events and logs for troubleshooting. */
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

/** Returns the platform under test, or the one that `usePlatform` has set. */
export function platform(): Promise<Platform> {
  return (opened ??= Platform.open());
}

/** Sets another platform as the one under test, or resets it if called with undefined. */
export function usePlatform(other: Platform | undefined): void {
  opened = other && Promise.resolve(other);
}
