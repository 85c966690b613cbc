import { randomBytes } from "node:crypto";
import { type GameCache, type GameCacheStatus, gameCaches } from "#contracts/crd/gameCache.ts";
import { type GameNode, type GameNodeStatus, gameNodes } from "#contracts/crd/gameNode.ts";
import { type GameSession, type GameSessionStatus, gameSessions } from "#contracts/crd/gameSession.ts";
import { isNotFound } from "#kube/api/errors.ts";
import type { Stored } from "#kube/api/object.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import type { KubeTransport } from "#kube/client/transport.ts";
import { aCondition } from "#test/factories/gameSession.ts";
import { loopbackIp } from "../processes/loopbackIp.ts";

const readyConditions = ["Scheduled", "ContentReady", "SaveRestored", "PodReady", "StreamReady", "Ready"];

/**
 * Writes to the cluster what the operator and the node agents would write, so that the API's side can be
 * tested alone.
 */
export class FakeOperator {
  readonly sessions: ResourceClient<GameSession>;
  readonly caches: ResourceClient<GameCache>;
  readonly nodes: ResourceClient<GameNode>;
  readonly #namespace: string;
  readonly #nodeNames: string[] = [];

  constructor(admin: KubeTransport, sessionsNamespace: string) {
    this.sessions = new ResourceClient(admin, gameSessions);
    this.caches = new ResourceClient(admin, gameCaches);
    this.nodes = new ResourceClient(admin, gameNodes);
    this.#namespace = sessionsNamespace;
  }

  /** A game node with so many slots; returns its name. */
  async addNode(slots: number, status: GameNodeStatus = {}): Promise<string> {
    const name = `node-${randomBytes(4).toString("hex")}`;
    await this.nodes.create({ metadata: { name }, spec: { desired: [] } });
    this.#nodeNames.push(name);
    await this.nodes.mergePatchStatus(
      { name },
      { status: { capacity: { slots, used: 0, schedulable: true }, ...status } },
    );
    return name;
  }

  /** Removes one node, as when the cluster has removed its machine. */
  async removeNode(name: string): Promise<void> {
    await this.nodes.delete({ name });
    this.#nodeNames.splice(this.#nodeNames.indexOf(name), 1);
  }

  /** Declares the node lost: neither its kubelet nor its agent is heard. */
  async loseNode(name: string): Promise<void> {
    await this.nodes.mergePatchStatus({ name }, { status: { conditions: [aCondition("Lost")] } });
  }

  /** Removes the nodes: they are the whole cluster's, and other tests count slots too. */
  async removeNodes(): Promise<void> {
    await Promise.all(this.#nodeNames.splice(0).map((name) => this.nodes.delete({ name })));
  }

  async session(id: string): Promise<Stored<GameSession>> {
    return this.sessions.get(this.#ref(id));
  }

  async findSession(id: string): Promise<Stored<GameSession> | undefined> {
    return this.sessions.find(this.#ref(id));
  }

  async cache(slug: string): Promise<Stored<GameCache> | undefined> {
    return this.caches.find(this.#ref(slug));
  }

  async report(id: string, status: GameSessionStatus): Promise<void> {
    await this.sessions.mergePatchStatus(this.#ref(id), { status });
  }

  async reportCache(slug: string, status: GameCacheStatus): Promise<void> {
    await this.caches.mergePatchStatus(this.#ref(slug), { status });
  }

  /** The streamer runs at this address; the game does not yet. */
  async startStreamer(id: string, podIp: string): Promise<void> {
    await this.report(id, { phase: "Starting", nodeName: this.#place, podIp });
  }

  /** The session has no pod that could be reached, as while it moves to another place. */
  async withdrawPod(id: string): Promise<void> {
    await this.sessions.mergePatchStatus(this.#ref(id), { status: { podIp: null } });
  }

  /** Makes the session ready, by default at an address where nothing listens. */
  async makeReady(
    id: string,
    { node = this.#place, podIp = loopbackIp() }: { node?: string; podIp?: string } = {},
  ): Promise<void> {
    await this.report(id, {
      phase: "Running",
      nodeName: node,
      readyAt: new Date().toISOString(),
      podIp,
      podRef: { name: id, uid: "pod" },
      conditions: readyConditions.map((type) => aCondition(type)),
    });
  }

  /** The session has ended, with all that belongs to it. */
  async finish(id: string, status: GameSessionStatus = {}): Promise<void> {
    const before = (await this.session(id)).status;
    const news = [...(status.conditions ?? [aCondition("SavePersisted")]), aCondition("Finished")];
    const kept = (before?.conditions ?? []).filter(
      ({ type }) => type !== "Ready" && !news.some((condition) => condition.type === type),
    );
    await this.report(id, {
      phase: "Finished",
      finishedAt: new Date().toISOString(),
      ...status,
      conditions: [...kept, ...news],
    });
  }

  /** Removes the object as if somebody had forced it away, finalizers and all. */
  async vanish(id: string): Promise<void> {
    await this.sessions.mergePatch(this.#ref(id), { metadata: { finalizers: null } });
    await this.sessions.delete(this.#ref(id)).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
  }

  /** Where sessions are, unless a test says so: on its first node. */
  get #place(): string {
    return this.#nodeNames[0] ?? "node-a";
  }

  #ref(name: string): { name: string; namespace: string } {
    return { name, namespace: this.#namespace };
  }
}

/** The operator of an API that was started with `kube`. */
export function operatorOf(api: {
  kube: { server: { admin: KubeTransport }; sessionsNamespace: string } | undefined;
}): FakeOperator {
  if (api.kube === undefined) throw new Error("Start the TestApi with kube: true.");
  return new FakeOperator(api.kube.server.admin, api.kube.sessionsNamespace);
}
