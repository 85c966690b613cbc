import { randomBytes } from "node:crypto";
import { Registry } from "prom-client";
import type { GameCache, GameCacheSpec } from "#contracts/crd/gameCache.ts";
import type { GameNode } from "#contracts/crd/gameNode.ts";
import type { GameSession, GameSessionSpec } from "#contracts/crd/gameSession.ts";
import { finalizers } from "#contracts/crd/names.ts";
import { events as eventType, nodes as nodeType, pods as podType, type Event, type Node, type Pod } from "#kube/builtin.ts";
import { isNotFound } from "#kube/errors.ts";
import type { Logger } from "#kube/logger.ts";
import { silentLogger } from "#kube/logger.ts";
import type { Stored } from "#kube/object.ts";
import { ResourceClient } from "#kube/resourceClient.ts";
import { aGameCache } from "#test/factories/gameCache.ts";
import { aGameSessionSpec } from "#test/factories/gameSession.ts";
import { parseConfig } from "../../operator/src/config.ts";
import { Operator } from "../../operator/src/operator.ts";
import { clusterRules, releaseNamespaceRules, sessionsNamespaceRules } from "../../operator/src/rbac.ts";
import { gameCaches, gameNodes, gameSessions } from "../../operator/src/resources.ts";
import { CountedTransport, type Write } from "./countedTransport.ts";
import { eventually } from "./eventually.ts";
import { JumpClock } from "./jumpClock.ts";
import { sharedKubeApiServer, type KubeApiServer } from "./kubeApiServer.ts";
import { PlayedParts } from "./playedParts.ts";

/** Writes that belong to a session: its object and its pod. Nodes, caches, leases and events are shared or for people. */
function isSessionWrite({ path }: Write): boolean {
  return /\/(gamesessions|pods)(\/|$)/.test(path);
}

/** A place of its own on the shared API server: a namespace, game nodes, the played parts, and operators with their own rights. */
export class OperatorStage {
  readonly clock = new JumpClock();
  readonly namespace: string;
  readonly parts: PlayedParts;
  readonly sessions: ResourceClient<GameSession>;
  readonly caches: ResourceClient<GameCache>;
  readonly gameNodes: ResourceClient<GameNode>;
  readonly nodes: ResourceClient<Node>;
  readonly pods: ResourceClient<Pod>;
  /** What API and agents write. */
  readonly joypod: CountedTransport;
  readonly #server: KubeApiServer;
  /** Of the operator's own service account. */
  readonly kubeconfigPath: string;
  readonly #cluster: CountedTransport;
  readonly #operators: Operator[] = [];
  readonly #nodeNames: string[] = [];
  readonly #environment: Record<string, string>;

  private constructor(server: KubeApiServer, namespace: string, kubeconfigPath: string, environment: Record<string, string>) {
    this.#server = server;
    this.namespace = namespace;
    this.kubeconfigPath = kubeconfigPath;
    this.#environment = environment;
    this.joypod = new CountedTransport(server.kubeconfigPath, isSessionWrite);
    this.#cluster = new CountedTransport(server.kubeconfigPath, isSessionWrite);
    this.parts = new PlayedParts(namespace, this.joypod, this.#cluster);
    this.sessions = new ResourceClient(this.joypod, gameSessions);
    this.caches = new ResourceClient(server.admin, gameCaches);
    this.gameNodes = new ResourceClient(server.admin, gameNodes);
    this.nodes = new ResourceClient(server.admin, nodeType);
    this.pods = new ResourceClient(server.admin, podType);
  }

  /** Sets the stage with the given number of nodes, each with two slots. */
  static async set({ nodes = 1, environment = {} }: { nodes?: number; environment?: Record<string, string> } = {}): Promise<OperatorStage> {
    const server = await sharedKubeApiServer();
    const namespace = await server.createNamespace("operator");
    const account = { namespace, name: "operator" };
    await server.asServiceAccount(account, [...clusterRules]);
    const { kubeconfigPath } = await server.asServiceAccount(account, [...sessionsNamespaceRules, ...releaseNamespaceRules], { roleNamespace: namespace });
    const stage = new OperatorStage(server, namespace, kubeconfigPath, environment);
    await stage.parts.start();
    for (let number = 1; number <= nodes; number++) await stage.addNode(`${namespace}-n${number}`);
    return stage;
  }

  /** Names of the stage's nodes, in order. */
  get nodeNames(): readonly string[] {
    return this.#nodeNames;
  }

  /** A Kubernetes node that is ready and has the game nodes' label. */
  async addNode(name: string): Promise<void> {
    await this.nodes.create({ metadata: { name, labels: { stage: this.namespace } } });
    await this.setNodeReady(name, true);
    this.#nodeNames.push(name);
  }

  async setNodeReady(name: string, isReady: boolean): Promise<void> {
    const now = new Date().toISOString();
    const condition = { type: "Ready", status: isReady ? "True" : "Unknown", reason: "Tested", message: "", lastHeartbeatTime: now, lastTransitionTime: now };
    await this.nodes.mergePatchStatus({ name }, { status: { conditions: [condition], addresses: [{ type: "InternalIP", address: "192.0.2.1" }] } });
  }

  /** What an operator of this stage is configured with. */
  get environment(): Record<string, string> {
    return {
      SESSIONS_NAMESPACE: this.namespace, LEADER_LEASE_NAMESPACE: this.namespace, GAME_NODE_SELECTOR: `stage=${this.namespace}`,
      GPU_RESOURCE_NAME: "", SOFTWARE_SLOTS: "2", STREAMER_IMAGE: "streamer:test", GAME_IMAGE: "game:test", HEARTBEAT_STALE_SECONDS: "3600",
      ...this.#environment,
    };
  }

  /** An operator at work under its own service account; the nodes' agents report once it has made their GameNodes. */
  async startOperator({ diesAfterWrites, logger = silentLogger }: { diesAfterWrites?: number; logger?: Logger } = {}): Promise<{ operator: Operator; transport: CountedTransport; registry: Registry }> {
    const transport = new CountedTransport(this.kubeconfigPath, isSessionWrite);
    if (diesAfterWrites !== undefined) transport.diesAfterWrites = diesAfterWrites;
    const registry = new Registry();
    const operator = new Operator({ transport, config: parseConfig(this.environment), clock: this.clock, logger, registry });
    this.#operators.push(operator);
    await operator.watch();
    await operator.lead();
    await this.reportNodes();
    return { operator, transport, registry };
  }

  /** Ends an operator as a crash would, as far as the cluster can tell. */
  async stopOperator(operator: Operator): Promise<void> {
    this.#operators.splice(this.#operators.indexOf(operator), 1);
    await operator.stop();
  }

  /** Creates a session as the API does. */
  async launch(spec: Partial<GameSessionSpec> = {}): Promise<Stored<GameSession>> {
    const name = `gs-${randomBytes(10).toString("hex")}`;
    return this.sessions.create({ metadata: { name, namespace: this.namespace, finalizers: [finalizers.recorder] }, spec: aGameSessionSpec(spec) });
  }

  async createCache(name: string, spec: Partial<GameCacheSpec> = {}): Promise<Stored<GameCache>> {
    return this.caches.create({ metadata: { name, namespace: this.namespace }, spec: aGameCache({ spec }).spec });
  }

  /** The session once it is as described; fails with its last status. */
  async session(name: string, isRight: (session: Stored<GameSession>) => boolean, what: string, timeoutMs = 15_000): Promise<Stored<GameSession>> {
    let last: Stored<GameSession> | undefined;
    try {
      return await eventually(async () => {
        last = await this.sessions.get({ name, namespace: this.namespace });
        return isRight(last) ? last : undefined;
      }, { what, timeoutMs });
    } catch (cause) {
      throw new Error(`No ${what}; the session's status: ${JSON.stringify(last?.status, null, 1)}`, { cause });
    }
  }

  /** Resolves once the session's object is gone. */
  async gone(name: string): Promise<void> {
    await eventually(async () => await this.sessions.find({ name, namespace: this.namespace }) === undefined, { what: `${name} to be gone`, timeoutMs: 15_000 });
  }

  /** Reasons of the events about the object, in the order in which they were made. */
  async eventsOf(name: string): Promise<string[]> {
    const { items } = await new ResourceClient<Event>(this.#server.admin, eventType).listAll({ namespace: this.namespace });
    return items.filter(({ regarding }) => regarding?.name === name)
      .sort((a, b) => a.eventTime.localeCompare(b.eventTime)).map(({ reason }) => reason ?? "");
  }

  async clear(): Promise<void> {
    await Promise.all(this.#operators.splice(0).map((operator) => operator.stop()));
    await this.parts.stop();
    for (const name of this.#nodeNames) {
      for (const client of [this.nodes, this.gameNodes]) {
        await client.delete({ name }).catch((error: unknown) => {
          if (!isNotFound(error)) throw error;
        });
      }
    }
    await Promise.all([this.joypod.close(), this.#cluster.close()]);
  }

  /** The agents report, once an operator has made their GameNodes, and it takes the nodes for placement. */
  async reportNodes(): Promise<void> {
    for (const name of this.#nodeNames) {
      await eventually(() => this.gameNodes.find({ name }), { what: `GameNode ${name}` });
      if (!this.parts.behaviour.silentNodes.has(name)) await this.parts.report(name);
    }
    await eventually(async () => {
      const all = await Promise.all(this.#nodeNames.map((name) => this.gameNodes.get({ name })));
      return all.every(({ metadata, status }) => this.parts.behaviour.silentNodes.has(metadata.name) || status?.capacity?.schedulable === true);
    }, { what: "schedulable game nodes" });
  }
}
