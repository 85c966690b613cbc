import type { Reconcile } from "#kube/controllers/controller.ts";
import { createReconciler, type Step, type StepOutcome } from "#kube/controllers/reconciler.ts";
import type { Logger } from "#runtime/logger.ts";
import { isOwnedBy, refOf } from "#kube/api/object.ts";
import { SpoolUnreadable, type Spool } from "../spool/readSpool.ts";
import { stepFor, type StepName } from "./decide.ts";
import { withReported, type SessionRecord } from "./record.ts";
import { RecordUnreadable } from "./sessionFiles.ts";
import { keepStored } from "./steps/keepStored.ts";
import { readSpoolOf, retryMs, type SessionDeps, type Step as SessionStep } from "./steps/step.ts";
import { prepare, recordOf } from "./steps/prepare.ts";
import { resolveAbsence } from "./steps/resolveAbsence.ts";
import { refuseSpool, reportNothing, settle, storeLast } from "./steps/storeLast.ts";
import type { SessionWorld } from "./world.ts";

/** Inputs of the steps of a pass. */
interface Pass {
  key: string;
  world: SessionWorld;
  deps: SessionDeps;
  /** Keys of the sessions for which the log already says that they are ignored. */
  leftAlone: Set<string>;
  signal: AbortSignal;
  logger: Logger;
}

const steps: Record<StepName, Step<Pass>> = {
  prepare: onSession(prepare),
  keepStored: onSession(keepStored),
  wait: () => ({ requeueAfterMs: retryMs }),
  storeLast: onSession(storeLast),
  refuseSpool: onSession(refuseSpool),
  reportNothing: onSession(reportNothing),
  leaveAlone,
  settle: onSession(settle),
  resolveAbsence: async ({ world, deps, signal, logger }) =>
    (world.record && (await resolveAbsence({ deps, record: world.record, world, signal, logger }))) ?? "wait",
  nothing: forget,
};

/**
 * Returns the reconcile that brings a session's state on this node closer to the desired state: it observes,
 * decides, and takes one step.
 */
export function createSessionReconciler(deps: SessionDeps): Reconcile {
  const leftAlone = new Set<string>();
  return createReconciler({
    observe: (key): Promise<SessionWorld> => observe(deps, key),
    decide: (world): { steps: readonly StepName[] } => ({ steps: [stepFor(world)] }),
    begin(world, { steps: [step] }, { key, signal, logger }): Pass {
      if (step !== "leaveAlone") leftAlone.delete(key);
      return { key, world, deps, leftAlone, signal, logger };
    },
    steps,
  });
}

/** Returns a step that runs only if the cluster still has the session. */
function onSession(step: SessionStep): Step<Pass> {
  return async ({ world, deps, signal, logger }) => {
    const { session } = world;
    if (session === undefined) return "wait";
    const record = world.record ?? recordOf(session, deps.node);
    return (await step({ deps, session, record, world, signal, logger })) ?? "wait";
  };
}

function leaveAlone(pass: Pass): StepOutcome {
  const { key, deps, leftAlone, logger } = pass;
  if (!leftAlone.has(key)) {
    leftAlone.add(key);
    logger.warn(
      { gameSession: refOf(key).name, root: deps.root },
      "The folder of a played session is not below this agent's root. The agent with the folder stores its save.",
    );
  }
  return forget(pass);
}

/**
 * Forgets the session's reports, which are all that is kept of a launch that was stopped before it had a
 * record.
 */
function forget({ world: { session }, deps }: Pass): StepOutcome {
  if (session !== undefined) deps.reporter.forget(session.metadata.uid);
  return "wait";
}

async function observe(deps: SessionDeps, key: string): Promise<SessionWorld> {
  const { gameSessions, pods, files } = deps;
  const { name } = refOf(key);
  const found = gameSessions.cache.get(key);
  const known = await readRecord(deps, key);
  // Another object of the same name is unrelated to the files here.
  const session =
    found !== undefined && known !== undefined && found.metadata.uid !== known.uid ? undefined : found;
  const record = known && withReported(known, session?.status?.save);
  // The pod is read before the spool, so that packs written before the pod ended are found.
  const ofName = pods.cache.get(key);
  const pod =
    ofName !== undefined && isOwnedBy(ofName, record?.uid ?? found?.metadata.uid) ? ofName : undefined;
  const spool = record === undefined ? {} : await lookAtSpool(deps, record);
  // Repeated in each pass: after a restart of the agent the packer has been running for a while.
  if (record !== undefined) deps.watcher.follow(key, files.packedFolder(record.gameSession));
  return {
    session,
    record,
    pod,
    isOrdered: record !== undefined && (await files.isOrdered(name)),
    ...(spool instanceof SpoolUnreadable ? { spool: {}, unreadable: spool } : { spool }),
  };
}

async function lookAtSpool(deps: SessionDeps, record: SessionRecord): Promise<Spool | SpoolUnreadable> {
  try {
    return await readSpoolOf(deps, record);
  } catch (error) {
    if (error instanceof SpoolUnreadable) return error;
    throw error;
  }
}

/**
 * Rebuilds a record damaged by a disk fault from the cluster's state. Without a session its folder is set
 * aside.
 */
async function readRecord(
  { files, gameSessions, readFailures, onKept, node }: SessionDeps,
  key: string,
): Promise<SessionRecord | undefined> {
  const { name, namespace } = refOf(key);
  try {
    return await files.read(name);
  } catch (error) {
    if (!(error instanceof RecordUnreadable)) throw error;
    const session = await gameSessions.client.find({ name, namespace });
    if (session === undefined) {
      onKept(await files.keep(name), error);
      readFailures.forget(name);
      return undefined;
    }
    const record = {
      ...recordOf(session, node),
      ...(session.status?.save && { stored: session.status.save }),
    };
    await files.write(record);
    return record;
  }
}
