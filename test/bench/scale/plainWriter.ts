import { randomBytes } from "node:crypto";
import type { Condition } from "#contracts/crd/kind.ts";
import { type GameSession, type GameSessionStatus, gameSessions } from "#contracts/crd/gameSession.ts";
import { fieldManagers, finalizers } from "#contracts/crd/names.ts";
import { events as eventType, pods as podType, type Event, type Pod } from "#kube/api/builtin.ts";
import type { Stored } from "#kube/api/object.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import type { KubeTransport } from "#kube/client/transport.ts";
import { readConfig } from "#operator/config.ts";
import { buildPod } from "#operator/controllers/gameSession/pod.ts";
import { aCondition, aGameSessionSpec } from "#test/factories/gameSession.ts";
import { aTerminationReport, containerStatus } from "#test/factories/sessionPod.ts";

const nodeName = "plain";
/** Only has to be unique. */
const mediaPort = 20_000;

/**
 * Sends the writes of session lives to the API server without watching, reading or deciding anything. Its
 * rate is what the API server can sustain.
 */
export class PlainWriter {
  readonly #sessions: ResourceClient<GameSession>;
  readonly #pods: ResourceClient<Pod>;
  readonly #events: ResourceClient<Event>;
  readonly #transport: KubeTransport;
  readonly #namespace: string;
  readonly #config: ReturnType<typeof readConfig>;
  readonly #eventsPerLife: number;

  /** `environment` is that of the operator, so that the pods are like the operator's. */
  constructor({
    transport,
    namespace,
    environment,
    eventsPerLife,
  }: {
    transport: KubeTransport;
    namespace: string;
    environment: Record<string, string>;
    eventsPerLife: number;
  }) {
    this.#transport = transport;
    this.#namespace = namespace;
    this.#sessions = new ResourceClient(transport, gameSessions);
    this.#pods = new ResourceClient(transport, podType);
    this.#events = new ResourceClient(transport, eventType);
    this.#config = readConfig(environment);
    this.#eventsPerLife = eventsPerLife;
  }

  /** Writes `count` lives, `atOnce` of them concurrently, and returns the lives per second. */
  async rate(count: number, atOnce: number): Promise<number> {
    const startedMs = performance.now();
    let left = count;
    await Promise.all(
      Array.from({ length: atOnce }, async () => {
        while (left-- > 0) await this.#write();
      }),
    );
    return count / ((performance.now() - startedMs) / 1000);
  }

  async #write(): Promise<void> {
    const ref = { name: `gs-${randomBytes(10).toString("hex")}`, namespace: this.#namespace };
    const session = await this.#sessions.create({
      metadata: { ...ref, finalizers: [finalizers.recorder] },
      spec: aGameSessionSpec({ ttlSecondsAfterFinished: 1 }),
    });
    await this.#start(ref, session);
    await this.#end(ref, session);
    for (let count = 0; count < this.#eventsPerLife; count++) await this.#record(ref, session);
  }

  async #start(ref: Ref, session: Stored<GameSession>): Promise<void> {
    await this.#asOperator(ref, { phase: "Preparing", conditions: operatorConditions("Scheduled") });
    const place = { nodeName, mediaPort, addresses: ["192.0.2.1"], operatorPublicKey: "plain" };
    await this.#pods.create(buildPod(session, place, this.#config.sessionPod));
    await this.#transport.request({
      method: "POST",
      path: `/api/v1/namespaces/${ref.namespace}/pods/${ref.name}/binding`,
      body: {
        apiVersion: "v1",
        kind: "Binding",
        metadata: { name: ref.name },
        target: { apiVersion: "v1", kind: "Node", name: nodeName },
      },
    });
    await this.#asKubelet(ref, "Running", { running: { startedAt: now() } });
    await this.#asAgent(ref, ["ContentReady", "SaveRestored"]);
    await this.#asOperator(ref, {
      phase: "Running",
      readyAt: now(),
      podIp: "127.77.0.5",
      podRef: { name: ref.name, uid: session.metadata.uid },
      conditions: operatorConditions("Scheduled", "PodReady", "StreamReady", "Ready"),
    });
  }

  async #end(ref: Ref, session: Stored<GameSession>): Promise<void> {
    await this.#sessions.mergePatch(ref, { spec: { desiredState: "Stopped", stopReason: "UserRequested" } });
    await this.#pods.delete(ref);
    await this.#asKubelet(ref, "Succeeded", {
      terminated: { exitCode: 0, reason: "Completed", finishedAt: now(), message: aTerminationReport() },
    });
    await this.#pods.delete(ref, { gracePeriodSeconds: 0 });
    await this.#asAgent(ref, ["ContentReady", "SaveRestored", "SavePersisted"]);
    await this.#asOperator(ref, {
      phase: "Finished",
      readyAt: now(),
      finishedAt: now(),
      stopReason: "UserRequested",
      podRef: { name: ref.name, uid: session.metadata.uid },
      conditions: operatorConditions("Scheduled", "Finished"),
    });
    await this.#pods.mergePatch(ref, { metadata: { finalizers: null } });
    await this.#sessions.mergePatch(ref, { metadata: { finalizers: null } });
    await this.#sessions.delete(ref);
  }

  async #asOperator(ref: Ref, status: GameSessionStatus): Promise<void> {
    const placed = {
      startedAt: now(),
      nodeName,
      ports: { media: mediaPort },
      address: "192.0.2.1",
      placement: { attempt: 1, assignedAt: now(), triedNodes: [] },
    };
    await this.#sessions.applyStatus(
      { metadata: ref, status: { ...placed, ...status } },
      { fieldManager: fieldManagers.operator },
    );
  }

  async #asAgent(ref: Ref, isTrue: readonly string[]): Promise<void> {
    const conditions = ["ContentReady", "SaveRestored", "SavePersisted"].map((type) =>
      aCondition(type, { status: isTrue.includes(type) ? "True" : "Unknown", lastTransitionTime: now() }),
    );
    await this.#sessions.applyStatus(
      { metadata: ref, status: { conditions } },
      { fieldManager: fieldManagers.nodeAgent },
    );
  }

  async #asKubelet(ref: Ref, phase: string, state: Parameters<typeof containerStatus>[1]): Promise<void> {
    const status = {
      phase,
      podIP: "127.77.0.5",
      conditions: [{ type: "Ready", status: phase === "Running" ? "True" : "False" }],
      initContainerStatuses: [containerStatus("streamer", state)],
      containerStatuses: [containerStatus("game", state)],
    };
    await this.#pods.mergePatchStatus(ref, { status });
  }

  async #record({ name, namespace }: Ref, { metadata: { uid } }: Stored<GameSession>): Promise<void> {
    await this.#events.create({
      metadata: { name: `${name}.${randomBytes(8).toString("hex")}`, namespace },
      eventTime: now().replace("Z", "000Z"),
      type: "Normal",
      reason: "Scheduled",
      action: "Schedule",
      note: `Placed on node ${nodeName} with media port ${mediaPort}.`,
      reportingController: "joypod.dev/plain",
      reportingInstance: "plain",
      regarding: { apiVersion: "joypod.dev/v1alpha1", kind: "GameSession", name, namespace, uid },
    });
  }
}

interface Ref {
  name: string;
  namespace: string;
}

function operatorConditions(...isTrue: string[]): Condition[] {
  return ["Scheduled", "PodReady", "StreamReady", "Ready", "Finished"].map((type) =>
    aCondition(type, { status: isTrue.includes(type) ? "True" : "Unknown", lastTransitionTime: now() }),
  );
}

function now(): string {
  return new Date().toISOString();
}
