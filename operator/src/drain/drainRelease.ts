import PQueue from "p-queue";
import { type GameSession, gameSessionKind, gameSessions } from "#contracts/crd/gameSession.ts";
import { finalizers } from "#contracts/crd/names.ts";
import { gameCaches } from "#contracts/crd/gameCache.ts";
import { conditionStatus } from "#contracts/crd/sessionState.ts";
import { pods } from "#kube/api/builtin.ts";
import { isAlreadyExists, isForbidden, isNotFound } from "#kube/api/errors.ts";
import type { KubeObject, Stored } from "#kube/api/object.ts";
import type { KubeRequest } from "#kube/client/request.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import type { KubeTransport } from "#kube/client/transport.ts";
import { hasFinalizer, isDeleting, removeFinalizer } from "#kube/controllers/finalizers.ts";
import type { Logger } from "#runtime/logger.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import { untilAborted } from "#runtime/scheduling/deadline.ts";
import type { DrainConfig } from "./config.ts";

/** Dependencies of drainRelease. */
interface DrainDeps {
  transport: KubeTransport;
  config: DrainConfig;
  clock: Clock;
  logger: Logger;
  /** Aborted when the program has to stop. The release then accepts sessions again, as after any failure. */
  signal: AbortSignal;
}

const pollMs = 500;
/** Concurrency limit of requests, because the API server has other clients. */
const atOnce = 16;
/** Longer than the programs' own grace period. */
const programsEndMs = 25_000;

/**
 * Drains the release so that it and its namespaces can be removed without leaving anything that only a
 * running Joypod could finish. New sessions are refused. Running sessions end as if they were deleted, with
 * their saves stored. Then the programs are stopped, and whatever still waits for them after `drainSeconds`
 * is released. Each session whose last save was not stored is named in the log; the save stays on its node's
 * disk. Does nothing if a tool without support for hooks applied the Job with the rest of the chart.
 *
 * @throws ScaledUpError if the programs were scaled up again during the drain
 */
export async function drainRelease(deps: DrainDeps): Promise<void> {
  const { transport, config, logger } = deps;
  if (
    config.jobName !== undefined &&
    (await isAppliedAsText(transport, config.releaseNamespace, config.jobName))
  ) {
    logger.warn(
      { job: config.jobName },
      "This Job was applied with the chart's manifests and not started by an uninstall, so nothing is drained. See uninstall.drainNow.",
    );
    return;
  }
  await refuseNewSessions(transport, config.sessionsNamespace);
  try {
    await untilAborted(endAll(deps), deps.signal);
  } finally {
    // Also after a failure, because a release that is kept must accept sessions.
    await allowNewSessions(transport, config.sessionsNamespace);
  }
  logger.info({}, "The release can be removed.");
}

async function endAll(deps: DrainDeps): Promise<void> {
  const { transport, config, logger } = deps;
  const hasEnded = await waitUntil(deps, config.drainSeconds * 1000, () => deleteSessions(deps));
  logger.info(
    { hasEnded },
    hasEnded ? "All game sessions have ended." : "Some game sessions did not end in time. They are released.",
  );
  const selectors = await scaleToZero(transport, config.releaseNamespace, config.deployments);
  await waitUntil(deps, programsEndMs, () => haveNoPods(transport, config.releaseNamespace, selectors));
  await releaseObjects(deps);
  await assertNoneScaledUp(deps);
}

/**
 * A program that was scaled up again adds finalizers to objects that nobody would remove. Pods are not
 * checked: a pod may remain on a node that is gone, where it does nothing.
 */
async function assertNoneScaledUp({ transport, config }: DrainDeps): Promise<void> {
  const names = await scaledUp(transport, config.releaseNamespace, config.deployments);
  if (names.length > 0) throw new ScaledUpError(names);
}

async function waitUntil(
  { clock, signal }: DrainDeps,
  deadlineMs: number,
  isDone: () => Promise<boolean>,
): Promise<boolean> {
  const endMs = clock.monotonicMs() + deadlineMs;
  for (;;) {
    if (await isDone()) return true;
    if (clock.monotonicMs() >= endMs) return false;
    await clock.sleep(pollMs, signal);
  }
}

/** Deletes every session. Returns whether all are gone. */
async function deleteSessions({ transport, config, signal }: DrainDeps): Promise<boolean> {
  const client = new ResourceClient(transport, gameSessions);
  const { items } = await client.listAll({ namespace: config.sessionsNamespace });
  await forEach(
    items.filter((session) => !isDeleting(session)),
    signal,
    (session) => client.delete(session.metadata, { uid: session.metadata.uid }),
  );
  return items.length === 0;
}

/** Removes Joypod's finalizers from the remaining objects. */
async function releaseObjects({ transport, config, logger, signal }: DrainDeps): Promise<void> {
  const selection = { namespace: config.sessionsNamespace };
  const [sessions, caches, sessionPods] = [
    new ResourceClient(transport, gameSessions),
    new ResourceClient(transport, gameCaches),
    new ResourceClient(transport, pods),
  ];
  await forEach((await sessions.listAll(selection)).items, signal, async (session) => {
    warnOfSave(session, logger);
    await removeFinalizers(sessions, session, [finalizers.recorder, finalizers.operator]);
    await sessions.delete(session.metadata);
  });
  await forEach((await caches.listAll(selection)).items, signal, (cache) =>
    removeFinalizers(caches, cache, [finalizers.cache]),
  );
  await forEach((await sessionPods.listAll(selection)).items, signal, (pod) =>
    removeFinalizers(sessionPods, pod, [finalizers.usage]),
  );
}

function warnOfSave(session: Stored<GameSession>, logger: Logger): void {
  if (conditionStatus(session, "SavePersisted") === "True") return;
  const { nodeName, save } = session.status ?? {};
  logger.warn(
    {
      gameSession: session.metadata.name,
      user: session.spec.userId,
      node: nodeName,
      storedSave: save?.objectKey,
    },
    "The last save of a game session may not be stored. In that case it stays on its node's disk.",
  );
}

async function removeFinalizers<T extends KubeObject>(
  client: ResourceClient<T>,
  object: Stored<T>,
  names: readonly string[],
): Promise<void> {
  for (const name of names.filter((each) => hasFinalizer(object, each)))
    await removeFinalizer(client, object, name);
}

/**
 * Does the work for each object, some at a time: there may be thousands of caches, and the Job has one minute
 * to release everything. Objects that no longer exist are skipped.
 */
async function forEach<T>(
  objects: readonly T[],
  signal: AbortSignal,
  work: (object: T) => Promise<void>,
): Promise<void> {
  signal.throwIfAborted();
  const queue = new PQueue({ concurrency: atOnce });
  try {
    await queue.addAll(
      objects.map((object) => () => work(object).catch(ignoreMissing)),
      { signal },
    );
  } finally {
    queue.clear(); // After a failure no further work starts.
  }
}

function ignoreMissing(error: unknown): void {
  if (!isNotFound(error)) throw error;
}

/**
 * Field managers that apply manifests without support for hooks. Helm, and tools that follow its hooks,
 * create this Job only when the release is removed.
 */
const hooklessManagers = /^(kubectl|kustomize-controller)/;

/** Returns whether a tool without support for hooks created the Job like any other object of the chart. */
async function isAppliedAsText(transport: KubeTransport, namespace: string, name: string): Promise<boolean> {
  try {
    const path = `/apis/batch/v1/namespaces/${encodeURIComponent(namespace)}/jobs/${encodeURIComponent(name)}`;
    const { metadata } = (await transport.request({ method: "GET", path, resource: "jobs" })) as {
      metadata: { managedFields?: { manager?: string }[] };
    };
    return (metadata.managedFields ?? []).some(({ manager = "" }) => hooklessManagers.test(manager));
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

interface Scale {
  spec?: { replicas?: number };
  status?: { selector?: string };
}

/**
 * Scales deployments to zero and returns the label selectors of their pods. Skips deployments that do not
 * exist.
 */
async function scaleToZero(
  transport: KubeTransport,
  namespace: string,
  names: readonly string[],
): Promise<string[]> {
  const toZero = {
    method: "PATCH",
    contentType: "application/merge-patch+json",
    body: { spec: { replicas: 0 } },
  } as const;
  const scales = await Promise.all(names.map((name) => requestScale(transport, namespace, name, toZero)));
  return scales.map((scale) => scale?.status?.selector).filter((selector) => selector !== undefined);
}

/** Returns the deployments with a nonzero replica count. */
async function scaledUp(
  transport: KubeTransport,
  namespace: string,
  names: readonly string[],
): Promise<string[]> {
  const scales = await Promise.all(
    names.map((name) => requestScale(transport, namespace, name, { method: "GET" })),
  );
  return names.filter((_, index) => (scales[index]?.spec?.replicas ?? 0) > 0);
}

async function requestScale(
  transport: KubeTransport,
  namespace: string,
  name: string,
  request: Pick<KubeRequest, "method" | "contentType" | "body">,
): Promise<Scale | undefined> {
  const path = `/apis/apps/v1/namespaces/${encodeURIComponent(namespace)}/deployments/${encodeURIComponent(name)}/scale`;
  try {
    return (await transport.request({ ...request, path, resource: "deployments/scale" })) as Scale;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Returns whether no pod matches any of the selectors. */
async function haveNoPods(
  transport: KubeTransport,
  namespace: string,
  selectors: readonly string[],
): Promise<boolean> {
  const client = new ResourceClient(transport, pods);
  const pages = await Promise.all(
    selectors.map((labelSelector) => client.list({ namespace, labelSelector, limit: 1 })),
  );
  return pages.every(({ items }) => items.length === 0);
}

/** Name of the quota that blocks new sessions. */
export const quotaName = "joypod-drain";

/** Makes the API server refuse new sessions. A namespace that is gone or being deleted needs no quota. */
async function refuseNewSessions(transport: KubeTransport, namespace: string): Promise<void> {
  const body = {
    apiVersion: "v1",
    kind: "ResourceQuota",
    metadata: { name: quotaName },
    spec: { hard: { [`count/${gameSessionKind.plural}.${gameSessionKind.group}`]: "0" } },
  };
  await transport
    .request({ method: "POST", path: pathOf(namespace), body, resource: "resourcequotas" })
    .catch((error: unknown) => {
      if (!isAlreadyExists(error) && !isNotFound(error) && !isForbidden(error)) throw error;
    });
}

/** Reverts `refuseNewSessions`, so that the next release can use a namespace that outlives this one. */
async function allowNewSessions(transport: KubeTransport, namespace: string): Promise<void> {
  await transport
    .request({ method: "DELETE", path: `${pathOf(namespace)}/${quotaName}`, resource: "resourcequotas" })
    .catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
}

function pathOf(namespace: string): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/resourcequotas`;
}

/**
 * The stopped programs were scaled up again. The Job is not retried, because a retry might succeed only by
 * finishing before they are scaled up once more.
 */
export class ScaledUpError extends Error {
  /** The program's exit code, which the chart's Job recognizes. */
  static readonly exitCode = 2;
  override readonly name = "ScaledUpError";

  constructor(deployments: readonly string[]) {
    super(
      `Scaled up again: ${deployments.join(" and ")}. Turn off automatic sync (Argo CD) or suspend the Kustomization (Flux), then run this Job again.`,
    );
  }
}
