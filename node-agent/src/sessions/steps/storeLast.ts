import { saveEventReason, saveReasons } from "#contracts/crd/gameSessionReasons.ts";
import { isFinished } from "#contracts/crd/sessionState.ts";
import type { SpoolManifest } from "#contracts/spool.ts";
import { isOwnedBy, keyOfRef } from "#kube/api/object.ts";
import { SpoolUnreadable } from "../../spool/readSpool.ts";
import type { SaveOutcome, SessionRecord } from "../record.ts";
import { NoTurnYet } from "../transferTurns.ts";
import { mayStillPack } from "../world.ts";
import { savePendingFinding, reportSaveFailure, uploadOf } from "./keepStored.ts";
import {
  rereadSpool,
  type RecordContext,
  retryMs,
  type SessionDeps,
  type Step,
  type StepContext,
} from "./step.ts";
import { storeOutput } from "./storeOutput.ts";
import { isStored, storePack } from "./storeSave.ts";

/** Stores the last pack, and reports the session's final save. */
export const storeLast: Step = async (context) => {
  if (context.world.pod === undefined && (await hasLivePod(context))) return { requeueAfterMs: 1_000 };
  try {
    const next = await storeNewest(context.world.pod === undefined ? await rereadSpool(context) : context);
    return next === undefined ? { requeueAfterMs: 100 } : await settle({ ...context, record: next });
  } catch (error) {
    if (error instanceof SpoolUnreadable) return refuse(context, error);
    if (!(error instanceof NoTurnYet)) await reportSaveFailure(context, error);
    throw error;
  }
};

/**
 * Reports that the packer's files cannot be read. Once the pod has ended, settles the session without them.
 */
export const refuseSpool: Step = async (context) => {
  const {
    deps,
    session,
    world: { pod, unreadable },
    signal,
  } = context;
  if (unreadable === undefined) return undefined;
  if (pod === undefined ? !(await hasLivePod(context)) : !mayStillPack(pod))
    return refuse(context, unreadable);
  await deps.reporter.report(
    session,
    [savePendingFinding(saveReasons.spoolUnreadable, unreadable.message)],
    undefined,
    signal,
  );
  return { requeueAfterMs: deps.saveIntervalMs };
};

/**
 * Stores the newest pack unless the object store has it. Returns the record with its outcome, or undefined if
 * a newer pack was written in the meantime.
 */
export async function storeNewest(context: RecordContext): Promise<SessionRecord | undefined> {
  const {
    deps,
    record,
    world: {
      spool: { manifest },
    },
  } = context;
  const newest = manifest?.save !== undefined && !isStored(record, manifest.save) ? manifest.save : undefined;
  const stored =
    newest === undefined
      ? record
      : await deps.turns.upload(uploadOf(context, true), () => storePack(context, newest, true));
  if (stored === undefined) return undefined;
  const next = {
    ...stored,
    ...(stored.stored && { stored: { ...stored.stored, final: true } }),
    outcome: outcomeOf(stored, manifest, deps.clock.now()),
  };
  await deps.files.writeStored(next);
  deps.onSaveStored(
    newest !== undefined ? "stored" : manifest?.refused === undefined ? "unchanged" : "failed",
  );
  return next;
}

async function refuse(context: StepContext, error: Error) {
  const { deps, record } = context;
  const next = {
    ...record,
    outcome: { reason: saveReasons.spoolUnreadable, message: `${error.message} ${describeSlotSave(record)}` },
  };
  await deps.files.writeStored(next);
  deps.onSaveStored("failed");
  return settle({ ...context, record: next });
}

/** Returns the result of storing a session's last save. The largest loss takes precedence. */
function outcomeOf(record: SessionRecord, manifest: SpoolManifest | undefined, now: Date): SaveOutcome {
  const { save, refused, final } = manifest ?? {};
  if (refused !== undefined)
    return {
      reason: refused.reason,
      message: `${refused.message} ${describeSlotSave(record)}`.slice(0, 1024),
    };
  if (final !== true) return lastAutosave(record, save?.packedAt, now);
  if (record.stored !== undefined)
    return { reason: saveReasons.stored, message: `The last save is stored.${describeOmittedEntries(save)}` };
  if (record.baseSave !== undefined)
    return { reason: saveReasons.unchanged, message: "The game did not change the restored save." };
  return { reason: saveReasons.nothingToSave, message: "The game wrote no save." };
}

function lastAutosave(record: SessionRecord, packedAt: string | undefined, now: Date): SaveOutcome {
  const before = "The pod ended without packing its last save.";
  if (packedAt === undefined)
    return {
      reason: saveReasons.lastAutosave,
      message: `${before} It had not packed one before. ${describeSlotSave(record)}`,
    };
  const ageSeconds = Math.max(0, Math.round((now.getTime() - Date.parse(packedAt)) / 1000));
  return {
    reason: saveReasons.lastAutosave,
    message: `${before} The slot has the save packed at ${packedAt}, ${ageSeconds} s ago.`,
  };
}

function describeSlotSave({ stored }: SessionRecord): string {
  return stored === undefined
    ? "The slot keeps the save that the session started from."
    : `The slot has save ${stored.sequence} of this session.`;
}

function describeOmittedEntries(save: SpoolManifest["save"]): string {
  if (save?.leftOut === undefined) return "";
  const { count, example } = save.leftOut;
  return ` ${count} of its entries cannot be kept, for example: ${example}.`.slice(0, 900);
}

/**
 * Returns whether the cluster has the session's pod on this node. Queries the API server, because the watch
 * of pods may lag behind that of sessions.
 */
export async function hasLivePod({
  deps: { pods, node },
  record: { gameSession, namespace, uid },
  signal,
}: RecordContext): Promise<boolean> {
  const pod = await pods.client.find({ name: gameSession, namespace }, { signal });
  return pod !== undefined && isOwnedBy(pod, uid) && pod.spec?.nodeName === node && mayStillPack(pod);
}

/** Reasons of outcomes that lose nothing. */
const goodReasons: ReadonlySet<string> = new Set([
  saveReasons.stored,
  saveReasons.unchanged,
  saveReasons.nothingToSave,
]);

/** Reports the outcome of the last save, and removes the folder if the session is finished. */
export const settle: Step = async (context) => {
  const { deps, session, record, signal } = context;
  const { outcome, stored } = record;
  if (outcome === undefined) return undefined;
  const isNews = await deps.reporter.report(
    session,
    [{ type: "SavePersisted", status: "True", ...outcome }],
    stored,
    signal,
  );
  if (isNews)
    deps.events.record(session, {
      type: goodReasons.has(outcome.reason) ? "Normal" : "Warning",
      reason: saveEventReason(outcome.reason),
      action: "Store",
      note: outcome.message,
    });
  // After the report, because a stop waits for that.
  await storeOutput(context);
  if (isFinished(session)) await giveUp(deps, record);
  return deps.files.isUnwritten(record.gameSession) ? { requeueAfterMs: retryMs } : undefined;
};

/** Reports that there is no save, because the game never started. */
export const reportNothing: Step = async ({ deps, session, record, world, signal }) => {
  const finding = {
    type: "SavePersisted",
    status: "True",
    reason: saveReasons.nothingToSave,
    message: "The game was never started.",
  } as const;
  await deps.reporter.report(session, [finding], undefined, signal);
  deps.cache.release(session.metadata.name);
  if (isFinished(session) && world.record !== undefined) await giveUp(deps, record);
  return undefined;
};

/**
 * Forgets a session. Its folder is removed, or set aside if its packs cannot be read. If another session has
 * taken the name, only the folder's contents are.
 */
export async function giveUp(
  deps: SessionDeps,
  { gameSession, namespace, uid, outcome }: SessionRecord,
  isNameTaken = false,
): Promise<void> {
  deps.cache.release(gameSession);
  deps.reporter.forget(uid);
  deps.readFailures.forget(gameSession);
  deps.storedOutputs.delete(uid);
  deps.watcher.leave(keyOfRef({ name: gameSession, namespace }));
  if (outcome?.reason === saveReasons.spoolUnreadable)
    deps.onKept(await deps.files.keep(gameSession, isNameTaken), new Error(outcome.message));
  else await deps.files.remove(gameSession, isNameTaken);
}
