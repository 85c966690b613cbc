import type { Condition } from "#contracts/crd/kind.ts";
import { type CacheEntry, type GameNode, type GameNodeStatus, gameNodes } from "#contracts/crd/gameNode.ts";
import { type GameSession, type GameSessionStatus, gameSessions } from "#contracts/crd/gameSession.ts";
import { fieldManagers, finalizers, labels } from "#contracts/crd/names.ts";
import { leases, pods as podType, type Pod } from "#kube/api/builtin.ts";
import { isConditionTrue } from "#kube/api/conditions.ts";
import { Controller } from "#kube/controllers/controller.ts";
import { isConflict, isNotFound } from "#kube/api/errors.ts";
import { isDeleting, removeFinalizer } from "#kube/controllers/finalizers.ts";
import { silentLogger } from "#runtime/logger.ts";
import { keyOf, type Stored, toApiMicroTime } from "#kube/api/object.ts";
import { Reflector } from "#kube/cache/reflector.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { fromCache } from "#kube/cache/source.ts";
import { ObjectCache } from "#kube/cache/cache.ts";
import { systemClock } from "#runtime/scheduling/clock.ts";
import { aTerminationReport, containerStatus } from "#test/factories/sessionPod.ts";
import { nodeOfPod } from "#operator/sessionPods/podState.ts";
import type { CountedTransport } from "./countedTransport.ts";
import { loopbackIp } from "../processes/loopbackIp.ts";

/** Behaviour of the fake components. */
export interface Behaviour {
  /** Nodes whose agent never gets the game's files. */
  nodesWithoutContent: Set<string>;
  /** Nodes whose agent reports that it cannot fetch saves. */
  nodesWithoutSaves: Set<string>;
  /** Nodes where neither kubelet nor agent does anything. */
  silentNodes: Set<string>;
  /** Nodes whose kubelet does nothing, while their agent works. */
  nodesWithoutKubelet: Set<string>;
  /** Nodes whose agent does nothing, while their kubelet works. */
  nodesWithoutAgent: Set<string>;
  /** UDP ports that are in use on nodes, so the scheduler finds no node. */
  takenPorts: Set<number>;
  /** The agent cannot store saves. */
  isStoreUnavailable: boolean;
  /** Versions that are unpacked on every node. */
  cached: CacheEntry[];
  /** Address of all running pods. */
  podIp: string;
  /** Starts and ends what runs in pods; nothing by default. */
  containers: { start(pod: Stored<Pod>): Promise<void>; end(pod: Stored<Pod>): Promise<void> } | undefined;
  /** A stale streamer address that the kubelet keeps reporting. */
  frozenStreamerIp: string | undefined;
  /** Exit codes of the operator's probe pods by role; undefined if they never end. */
  probes: { control: number; covered: number } | undefined;
  /** True if the API's recorder does not release finished sessions. */
  isRecorderUnavailable: boolean;
}

/** The address of all pods, on loopback so that operators can reach it. */
export const podIp = loopbackIp();

export interface FakeComponentsOptions {
  /** Number of sessions or pods that each component handles concurrently. */
  workers?: number;
  /** True if other kubelets are used, still with this scheduler. */
  hasKubelets?: boolean;
  /** True if the nodes have real agents. */
  hasAgents?: boolean;
}

/**
 * Fakes of scheduler, kubelets, node agents and the API's recorder on a real API server, which write the same
 * as the real ones.
 */
export class FakeComponents {
  readonly behaviour: Behaviour = {
    nodesWithoutContent: new Set(),
    nodesWithoutSaves: new Set(),
    silentNodes: new Set(),
    nodesWithoutKubelet: new Set(),
    nodesWithoutAgent: new Set(),
    takenPorts: new Set(),
    isStoreUnavailable: false,
    cached: [],
    podIp,
    containers: undefined,
    frozenStreamerIp: undefined,
    probes: undefined,
    isRecorderUnavailable: false,
  };
  readonly #sessions = new ObjectCache<GameSession>();
  readonly #pods = new ObjectCache<Pod>();
  readonly #reflectors: { start(): void; stop(): Promise<void>; waitForSync(): Promise<void> }[];
  readonly #controllers: Controller[];
  /** Writes of the API and the node agents, which are counted as the session's. */
  readonly #joypod: CountedTransport;
  /** Writes of scheduler and kubelets, which any pod causes. */
  readonly #cluster: CountedTransport;
  /** Uids of all observed pods by session. */
  readonly podUids = new Map<string, Set<string>>();
  readonly #others: Pick<FakeComponentsOptions, "hasKubelets" | "hasAgents">;
  readonly #namespace: string;
  #heartbeats = 0;

  constructor(
    namespace: string,
    joypod: CountedTransport,
    cluster: CountedTransport,
    { workers = 1, ...others }: FakeComponentsOptions = {},
  ) {
    this.#others = others;
    this.#namespace = namespace;
    this.#joypod = joypod;
    this.#cluster = cluster;
    const sessions = new Reflector({
      client: new ResourceClient(cluster, gameSessions),
      cache: this.#sessions,
      namespace,
    });
    const pods = new Reflector({
      client: new ResourceClient(cluster, podType),
      cache: this.#pods,
      namespace,
    });
    this.#reflectors = [sessions, pods];
    this.#pods.subscribe(({ object: { metadata } }) => {
      this.podUids.set(metadata.name, (this.podUids.get(metadata.name) ?? new Set()).add(metadata.uid));
    });
    const common = { logger: silentLogger, workers, backOff: { baseMs: 20, maxMs: 200 } };
    this.#controllers = [
      new Controller({
        ...common,
        name: "agent",
        sources: [fromCache(sessions), fromCache(pods, { keys: (pod) => [keyOf(pod)] })],
        reconcile: (key) => this.#reconcileAsAgent(key),
      }),
      new Controller({
        ...common,
        name: "kubelet",
        sources: [fromCache(pods)],
        reconcile: (key) => this.#reconcileAsKubelet(key),
      }),
      new Controller({
        ...common,
        name: "recorder",
        sources: [fromCache(sessions)],
        reconcile: (key) => this.#reconcileAsRecorder(key),
      }),
    ];
  }

  async start(): Promise<void> {
    for (const reflector of this.#reflectors) reflector.start();
    await Promise.all(this.#controllers.map((controller) => controller.start()));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#controllers.map((controller) => controller.stop()));
    await Promise.all(this.#reflectors.map((reflector) => reflector.stop()));
  }

  /** Renews the Lease of the node's agent. */
  async renew(nodeName: string): Promise<void> {
    const renewTime = toApiMicroTime(new Date(systemClock.now().getTime() + this.#heartbeats++));
    await new ResourceClient(this.#cluster, leases).mergePatch(
      { namespace: this.#namespace, name: nodeName },
      { spec: { holderIdentity: nodeName, renewTime } },
    );
  }

  /** Reports the status of the node's agent, with a new heartbeat like agents without a Lease. */
  async report(
    nodeName: string,
    cache: Partial<NonNullable<GameNodeStatus["cache"]>> = {},
    conditions: Condition[] = [],
  ): Promise<void> {
    const status: GameNode["status"] = {
      ...(conditions.length === 0 ? {} : { conditions }),
      cache: { capacityBytes: 1e12, freeBytes: 1e12, entries: this.behaviour.cached, ...cache },
      // Unique, even for reports in quick succession.
      heartbeat: {
        renewedAt: new Date(systemClock.now().getTime() + this.#heartbeats++).toISOString(),
        agentVersion: "0.1.0",
      },
    };
    await new ResourceClient(this.#cluster, gameNodes).applyStatus(
      { metadata: { name: nodeName }, status },
      { fieldManager: fieldManagers.nodeAgent },
    );
  }

  /** Ends the game with an exit code. */
  async endGame(name: string, namespace: string, exitCode: number): Promise<void> {
    await this.#terminate({ name, namespace }, exitCode, aTerminationReport({ reason: "exited", exitCode }));
  }

  async #reconcileAsAgent(key: string): Promise<void> {
    if (this.#others.hasAgents === true) return;
    const session = this.#sessions.get(key);
    const nodeName = session?.status?.nodeName;
    if (
      !session ||
      nodeName === undefined ||
      this.behaviour.silentNodes.has(nodeName) ||
      this.behaviour.nodesWithoutAgent.has(nodeName)
    )
      return;
    const { conditions } = session.status ?? {};
    const pod = this.#pods.get(key);
    const isOver =
      pod === undefined
        ? isConditionTrue(conditions, "Finished") && session.status?.podRef !== undefined
        : isTerminated(pod);
    if (isOver && !isConditionTrue(conditions, "SavePersisted")) {
      const isStored = !this.behaviour.isStoreUnavailable;
      if (!isStored && conditions?.some(({ reason }) => reason === "StoreUnreachable")) return;
      await this.#reportSession(
        session,
        { SavePersisted: isStored ? ["True", "Stored"] : ["False", "StoreUnreachable"] },
        isStored,
      );
    } else if (
      !isOver &&
      !isConditionTrue(conditions, "ContentReady") &&
      !this.behaviour.nodesWithoutContent.has(nodeName)
    ) {
      const isStuck = this.behaviour.nodesWithoutSaves.has(nodeName);
      await this.#reportSession(
        session,
        {
          ContentReady: ["True", "Cached"],
          SaveRestored: isStuck ? ["False", "StoreUnreachable"] : ["True", "NothingToRestore"],
        },
        false,
      );
    }
  }

  async #reportSession(
    session: Stored<GameSession>,
    said: Record<string, ["True" | "False", string]>,
    isFinal: boolean,
  ): Promise<void> {
    const before = (session.status?.conditions ?? []).filter(({ type }) =>
      ["ContentReady", "SaveRestored", "SavePersisted"].includes(type),
    );
    const conditions = ["ContentReady", "SaveRestored", "SavePersisted"].map((type): Condition => {
      const now = said[type];
      const known = before.find((condition) => condition.type === type);
      if (!now && known) return known;
      const [status, reason] = now ?? ["Unknown" as const, "NotYet"];
      return { type, status, reason, message: "", lastTransitionTime: systemClock.now().toISOString() };
    });
    const { name, namespace } = session.metadata;
    const save: GameSessionStatus["save"] = {
      objectKey: `saves/slot1/1-${name}-1.tar.gz`,
      sha256: "b".repeat(64),
      bytes: 10,
      generation: 1,
      sequence: 1,
      persistedAt: systemClock.now().toISOString(),
      final: true,
    };
    const status = { conditions, ...(isFinal ? { save } : {}) };
    const written = await new ResourceClient(this.#joypod, gameSessions).applyStatus(
      { metadata: { name, namespace }, status },
      { fieldManager: fieldManagers.nodeAgent },
    );
    // Like the real agent, remembers what it has reported, and does not report it again while the watch lags
    // behind.
    this.#sessions.upsert(written);
  }

  async #reconcileAsKubelet(key: string): Promise<void> {
    const pod = this.#pods.get(key);
    if (pod?.metadata.labels?.[labels.networkProbe] !== undefined) return this.#endProbe(pod);
    const nodeName = pod && nodeOfPod(pod);
    if (
      !pod ||
      nodeName === undefined ||
      this.behaviour.silentNodes.has(nodeName) ||
      this.behaviour.nodesWithoutKubelet.has(nodeName)
    )
      return;
    if (pod.spec?.nodeName === undefined && !isDeleting(pod)) return this.#schedule(pod, nodeName);
    if (this.#others.hasKubelets === true) return;
    if (isDeleting(pod)) return this.#endPod(pod);
    if (pod.status?.phase !== "Pending") return;
    const startedAt = systemClock.now().toISOString();
    const { frozenStreamerIp } = this.behaviour;
    if (frozenStreamerIp !== undefined) {
      if (pod.status.podIP !== undefined) return;
      await this.#patchStatus(pod.metadata, {
        podIP: frozenStreamerIp,
        conditions: [{ type: "Ready", status: "False", lastTransitionTime: startedAt }],
        initContainerStatuses: [containerStatus("streamer", { running: { startedAt } }, { ready: false })],
        containerStatuses: [containerStatus("game", { waiting: { reason: "PodInitializing" } })],
      });
      return;
    }
    await this.behaviour.containers?.start(pod);
    await this.#patchStatus(pod.metadata, {
      phase: "Running",
      podIP: this.behaviour.podIp,
      conditions: [{ type: "Ready", status: "True" }],
      initContainerStatuses: [containerStatus("streamer", { running: { startedAt } })],
      containerStatuses: [containerStatus("game", { running: { startedAt } })],
    });
  }

  async #endProbe(pod: Stored<Pod>): Promise<void> {
    const { probes } = this.behaviour;
    if (probes === undefined || isDeleting(pod) || isTerminated(pod)) return;
    const exitCode =
      pod.metadata.labels?.[labels.networkProbe] === "control" ? probes.control : probes.covered;
    await this.#patchStatus(pod.metadata, {
      phase: exitCode === 0 ? "Succeeded" : "Failed",
      containerStatuses: [
        {
          name: "probe",
          image: "",
          imageID: "",
          ready: false,
          restartCount: 0,
          state: { terminated: { exitCode, reason: "Ended" } },
        },
      ],
    });
  }

  async #schedule(pod: Stored<Pod>, nodeName: string): Promise<void> {
    const port = pod.spec?.containers[0]?.ports?.[0]?.hostPort ?? 0;
    if (this.behaviour.takenPorts.has(port)) {
      const lastTransitionTime = "2026-01-01T00:00:00Z";
      const message =
        "0/2 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.";
      if (pod.status?.conditions?.some(({ type }) => type === "PodScheduled")) return;
      await this.#patchStatus(pod.metadata, {
        conditions: [
          { type: "PodScheduled", status: "False", reason: "Unschedulable", message, lastTransitionTime },
        ],
      });
      return;
    }
    const { name, namespace } = pod.metadata;
    await ignoringRaces(
      this.#cluster.request({
        method: "POST",
        path: `/api/v1/namespaces/${namespace ?? ""}/pods/${name}/binding`,
        body: {
          apiVersion: "v1",
          kind: "Binding",
          metadata: { name },
          target: { apiVersion: "v1", kind: "Node", name: nodeName },
        },
      }),
    );
  }

  async #endPod(pod: Stored<Pod>): Promise<void> {
    await this.behaviour.containers?.end(pod);
    if (!isTerminated(pod) && pod.status?.containerStatuses)
      await this.#terminate(pod.metadata, 0, aTerminationReport());
    if (pod.metadata.deletionGracePeriodSeconds === 0) return;
    await ignoringRaces(
      new ResourceClient(this.#cluster, podType).delete(pod.metadata, {
        uid: pod.metadata.uid,
        gracePeriodSeconds: 0,
      }),
    );
  }

  async #terminate(
    ref: { name: string; namespace?: string | undefined },
    exitCode: number,
    message: string,
  ): Promise<void> {
    const finishedAt = systemClock.now().toISOString();
    await this.#patchStatus(ref, {
      phase: exitCode === 0 ? "Succeeded" : "Failed",
      conditions: [{ type: "Ready", status: "False" }],
      initContainerStatuses: [
        containerStatus("streamer", { terminated: { exitCode: 0, reason: "Completed", finishedAt } }),
      ],
      containerStatuses: [
        containerStatus("game", {
          terminated: { exitCode, reason: exitCode === 0 ? "Completed" : "Error", message, finishedAt },
        }),
      ],
    });
  }

  async #patchStatus(
    ref: { name: string; namespace?: string | undefined },
    status: Pod["status"],
  ): Promise<void> {
    await ignoringRaces(new ResourceClient(this.#cluster, podType).mergePatchStatus(ref, { status }));
  }

  async #reconcileAsRecorder(key: string): Promise<void> {
    const session = this.#sessions.get(key);
    if (
      !session ||
      this.behaviour.isRecorderUnavailable ||
      !isConditionTrue(session.status?.conditions, "Finished")
    )
      return;
    await removeFinalizer(new ResourceClient(this.#joypod, gameSessions), session, finalizers.recorder);
  }
}

function isTerminated(pod: Pod): boolean {
  return pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed";
}

/** Ignores conflicts, which real components also have: the next pass repeats the write. */
async function ignoringRaces(write: Promise<unknown>): Promise<void> {
  await write.catch((error: unknown) => {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  });
}
