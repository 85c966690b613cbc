// A naive operator: client-node informers, one reconcile at a time, and linear searches in lists. It takes
// sessions from launch to end with the same writes as ours, and handles no failures. Run it with `node
// naiveOperator.ts` and the operator's environment variables.
import {
  CoreV1Api,
  CustomObjectsApi,
  KubeConfig,
  makeInformer,
  PatchStrategy,
  setHeaderOptions,
  type Informer,
  type KubernetesObject,
  type ObjectCache,
  type V1Pod,
} from "@kubernetes/client-node";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import { isFinished, isPrepared, publicStatusOf } from "#contracts/crd/sessionState.ts";
import { fieldManagers } from "#contracts/crd/names.ts";
import type { Stored } from "#kube/api/object.ts";
import { readConfig } from "#operator/config.ts";
import { buildPod } from "#operator/controllers/gameSession/pod.ts";

type Session = Stored<GameSession> & KubernetesObject;

const config = readConfig(process.env);
const kubeconfig = new KubeConfig();
kubeconfig.loadFromDefault();
const custom = kubeconfig.makeApiClient(CustomObjectsApi);
const core = kubeconfig.makeApiClient(CoreV1Api);
const namespace = config.sessionsNamespace;
const kind = { group: "joypod.dev", version: "v1alpha1", namespace, plural: "gamesessions" };
const path = `/apis/joypod.dev/v1alpha1/namespaces/${namespace}/gamesessions`;
const nodeNames = (process.env["NODE_NAMES"] ?? "").split(",");

const sessions = makeInformer<Session>(
  kubeconfig,
  path,
  () => custom.listNamespacedCustomObject(kind) as Promise<{ items: Session[] }>,
);
const pods = makeInformer<V1Pod>(kubeconfig, `/api/v1/namespaces/${namespace}/pods`, () =>
  core.listNamespacedPod({ namespace }),
);
const queue: string[] = [];
let wake: () => void = () => undefined;

follow(sessions);
follow(pods);
await Promise.all([sessions.start(), pods.start()]);
console.log("at work");
for (;;) {
  const name = queue.shift();
  if (name === undefined) await new Promise<void>((resolve) => (wake = resolve));
  else await reconcile(name).catch(() => setTimeout(enqueue, 100, name));
}

function follow<T extends KubernetesObject>(informer: Informer<T> & ObjectCache<T>): void {
  for (const event of ["add", "update", "delete"] as const)
    informer.on(event, ({ metadata }) => enqueue(metadata?.name ?? ""));
  informer.on("error", () => setTimeout(() => void informer.start(), 1000));
}

function enqueue(name: string): void {
  if (!queue.includes(name)) queue.push(name);
  wake();
}

async function reconcile(name: string): Promise<void> {
  const session = sessions.list().find(({ metadata }) => metadata.name === name);
  const pod = pods.list().find(({ metadata }) => metadata?.name === name);
  if (session === undefined) return;
  if (isFinished(session)) await remove(session, pod);
  else if (publicStatusOf(session) === "stopping") await end(session, pod);
  else if (session.status?.nodeName === undefined) await place(session);
  else if (pod === undefined) await start(session);
  else if (isReady(pod) && isPrepared(session) && session.status.readyAt === undefined)
    await report(session, pod);
}

async function place(session: Session): Promise<void> {
  const taken = sessions
    .list()
    .filter((other) => !isFinished(other))
    .map(({ status }) => `${status?.nodeName}:${status?.ports?.media}`);
  const free = nodeNames
    .map((nodeName) => ({ nodeName, used: taken.filter((place) => place.startsWith(`${nodeName}:`)).length }))
    .toSorted((a, b) => a.used - b.used);
  const nodeName = free[0]?.nodeName ?? "";
  let media = config.mediaPorts.first;
  while (taken.includes(`${nodeName}:${media}`)) media++;
  await writeStatus(session, { startedAt: now(), nodeName, ports: { media } }, { Scheduled: "True" });
}

async function start(session: Session): Promise<void> {
  const { nodeName = "", ports } = session.status ?? {};
  const body = buildPod(
    session,
    { nodeName, mediaPort: ports?.media ?? 0, addresses: ["192.0.2.1"], operatorPublicKey: "naive" },
    config.sessionPod,
  );
  await core.createNamespacedPod({ namespace, body: body as unknown as V1Pod }); // Times are strings in ours.
}

async function report(session: Session, pod: V1Pod): Promise<void> {
  const { startedAt, nodeName, ports } = session.status ?? {};
  const podRef = { name: pod.metadata?.name, uid: pod.metadata?.uid };
  await writeStatus(
    session,
    { startedAt, nodeName, ports, readyAt: now(), podIp: pod.status?.podIP, podRef },
    { Scheduled: "True", PodReady: "True", StreamReady: "True", Ready: "True" },
  );
}

async function end(session: Session, pod: V1Pod | undefined): Promise<void> {
  if (pod !== undefined && pod.metadata?.deletionTimestamp === undefined) {
    await core.deleteNamespacedPod({ namespace, name: session.metadata.name });
    return;
  }
  const hasEnded = pod === undefined || pod.status?.phase === "Succeeded";
  const isSaved = session.status?.conditions?.some(
    ({ type, status }) => type === "SavePersisted" && status === "True",
  );
  if (!hasEnded || isSaved !== true) return;
  const { startedAt, nodeName, ports, readyAt, podRef } = session.status ?? {};
  await writeStatus(
    session,
    { startedAt, nodeName, ports, readyAt, podRef, stopReason: "UserRequested", finishedAt: now() },
    { Finished: "True" },
  );
}

async function remove(session: Session, pod: V1Pod | undefined): Promise<void> {
  const merge = setHeaderOptions("Content-Type", PatchStrategy.MergePatch);
  if (pod?.metadata?.finalizers !== undefined)
    await core.patchNamespacedPod(
      { namespace, name: session.metadata.name, body: { metadata: { finalizers: null } } },
      merge,
    );
  if (session.metadata.deletionTimestamp === undefined)
    await custom.deleteNamespacedCustomObject({ ...kind, name: session.metadata.name });
}

async function writeStatus(
  { metadata: { name }, status: before }: Session,
  status: object,
  said: Record<string, "True">,
): Promise<void> {
  const conditions = ["Scheduled", "PodReady", "StreamReady", "Ready", "Finished"].map((type) => ({
    type,
    status: said[type] ?? "Unknown",
    reason: "Naive",
    message: "",
    lastTransitionTime:
      before?.conditions?.find((condition) => condition.type === type)?.lastTransitionTime ?? now(),
  }));
  const body = {
    apiVersion: "joypod.dev/v1alpha1",
    kind: "GameSession",
    metadata: { name },
    status: { ...status, conditions },
  };
  await custom.patchNamespacedCustomObjectStatus(
    { ...kind, name, body, fieldManager: fieldManagers.operator, force: true },
    setHeaderOptions("Content-Type", PatchStrategy.ServerSideApply),
  );
}

function isReady({ status }: V1Pod): boolean {
  return status?.conditions?.some(({ type, status: said }) => type === "Ready" && said === "True") ?? false;
}

function now(): string {
  return new Date().toISOString();
}
