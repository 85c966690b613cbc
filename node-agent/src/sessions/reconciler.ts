import type { ReconcileContext, ReconcileResult } from "#kube/controllers/controller.ts";
import { isOwnedBy, refOf } from "#kube/api/object.ts";
import { SpoolUnreadable, type Spool } from "../spool/readSpool.ts";
import { stepFor, type StepName } from "./decide.ts";
import { withReported, type SessionRecord } from "./record.ts";
import { RecordUnreadable } from "./sessionFiles.ts";
import { keepStored } from "./steps/keepStored.ts";
import { readSpoolOf, retryMs, type SessionDeps, type Step } from "./steps/step.ts";
import { prepare, recordOf } from "./steps/prepare.ts";
import { resolveAbsence } from "./steps/resolveAbsence.ts";
import { packFormerSaves, refuseSpool, reportNothing, settle, storeLast } from "./steps/storeLast.ts";
import { NoTurnYet } from "./transferTurns.ts";
import { LaunchCancelled, type SessionWorld } from "./world.ts";

const steps: Record<Exclude<StepName, "wait" | "nothing" | "leaveAlone" | "resolveAbsence">, Step> = {
  prepare,
  keepStored,
  packFormerSaves,
  storeLast,
  refuseSpool,
  reportNothing,
  settle,
};

/**
 * Returns the function that brings what this node holds of a session nearer to what the session needs: it
 * observes, decides, and takes one step.
 */
export function createSessionReconciler(
  deps: SessionDeps,
): (key: string, context: ReconcileContext) => Promise<ReconcileResult | undefined> {
  const leftAlone = new Set<string>();
  return async (key, context) => {
    try {
      return await takeStep(deps, { key, leftAlone }, context);
    } catch (error) {
      if (error instanceof NoTurnYet || error instanceof LaunchCancelled) return { requeueAfterMs: 0 };
      throw error;
    }
  };
}

/** `leftAlone`: keys of the sessions of which the log says so. */
async function takeStep(
  deps: SessionDeps,
  { key, leftAlone }: { key: string; leftAlone: Set<string> },
  { signal, logger }: ReconcileContext,
): Promise<ReconcileResult | undefined> {
  const world = await observe(deps, key);
  const step = stepFor(world);
  const { session } = world;
  if (step !== "leaveAlone") leftAlone.delete(key);
  else if (!leftAlone.has(key)) {
    leftAlone.add(key);
    logger.warn(
      { gameSession: refOf(key).name, root: deps.root },
      "A session was played whose folder is not below this agent's root; its save is left to the agent that has it.",
    );
  }
  // Also after a restart of the agent, when the packer has long been at work.
  if (world.record !== undefined) deps.watcher.follow(key, deps.files.packedFolder(world.record.gameSession));
  if (step === "nothing" || step === "leaveAlone") {
    // Of a launch that was stopped before there was a record, this is all that is kept.
    if (session !== undefined) deps.reporter.forget(session.metadata.uid);
    return undefined;
  }
  if (step === "wait") return { requeueAfterMs: retryMs };
  if (step === "resolveAbsence")
    return world.record && resolveAbsence({ deps, record: world.record, world, signal, logger });
  if (session === undefined) return undefined;
  // When a session is prepared anew, its record replaces that of the previous release.
  const record =
    world.record !== undefined && !(step === "prepare" && world.record.version === 1)
      ? world.record
      : recordOf(session, deps.node);
  return steps[step]({ deps, session, record, world, signal, logger });
}

async function observe(deps: SessionDeps, key: string): Promise<SessionWorld> {
  const { gameSessions, pods, files } = deps;
  const { name } = refOf(key);
  const found = gameSessions.cache.get(key);
  const known = await readRecord(deps, key);
  // Another object under the same name has nothing to do with the files that lie here.
  const session =
    found !== undefined && known !== undefined && found.metadata.uid !== known.uid ? undefined : found;
  const record = known && withReported(known, session?.status?.save);
  // The pod is read before the spool: what it packed before it ended is found there then.
  const ofName = pods.cache.get(key);
  const pod =
    ofName !== undefined && isOwnedBy(ofName, record?.uid ?? found?.metadata.uid) ? ofName : undefined;
  const formerSaves = record?.version === 1 ? await files.formerSaves(name) : undefined;
  const spool = record === undefined ? {} : await lookAtSpool(deps, record);
  return {
    session,
    record,
    pod,
    isOrdered: record?.version === 2 && (await files.isOrdered(name)),
    ...(formerSaves !== undefined && { formerSaves }),
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
 * Rebuilds a record that a fault of the disk has damaged from what the cluster knows; without a session its
 * folder is set aside.
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
