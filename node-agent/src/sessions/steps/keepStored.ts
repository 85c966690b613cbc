import type { GameSession, StoredSave } from "#contracts/crd/gameSession.ts";
import { saveReasons, type SaveReason } from "#contracts/crd/gameSessionReasons.ts";
import type { PackedSave, SpoolManifest } from "#contracts/spool.ts";
import { findCondition } from "#kube/api/conditions.ts";
import { keyOfRef } from "#kube/api/object.ts";
import { withDeadline } from "#runtime/scheduling/deadline.ts";
import { systemErrorCode, messageOf } from "#runtime/errors.ts";
import { requestSave } from "../../spool/orderRestore.ts";
import { SpoolUnreadable } from "../../spool/readSpool.ts";
import type { SessionRecord } from "../record.ts";
import type { Finding } from "../report.ts";
import { isObjectStoreUnreachable, ObjectStoreError } from "../../objectStore/objectStore.ts";
import type { WaitingUpload } from "../transferTurns.ts";
import { isStored, storePack } from "./storeSave.ts";
import { lookAgain, type RecordContext, retryMs, type Step, type StepContext } from "./step.ts";

/** A report that the API server has not taken by then keeps nothing waiting any longer. */
const reportMs = 5_000;

/**
 * Stores the packer's newest pack while the game is played: at most one in each interval. A pack that the
 * player asked for is stored at once. A report that the API server does not take keeps no pack from the
 * object store, and is tried again soon.
 */
export const keepStored: Step = async (context) => {
  const {
    deps,
    world: {
      spool: { manifest },
    },
  } = context;
  if (manifest === undefined) return { requeueAfterMs: deps.saveIntervalMs };
  const isReported = await hasReported(context, (until) => reportBefore(until, manifest));
  const requeueAfterMs = await storeWhenDue(context, manifest);
  return { requeueAfterMs: isReported ? requeueAfterMs : Math.min(requeueAfterMs, retryMs) };
};

/** Returns the time until a report that was not made is tried again, in milliseconds. */
function retryAfterMs({ deps: { saveIntervalMs } }: StepContext): number {
  return Math.min(saveIntervalMs, retryMs);
}

/**
 * Returns whether the report was made. A pass that failed instead would wait for its back-off, and the next
 * pack with it.
 */
async function hasReported(
  context: StepContext,
  report: (context: StepContext) => Promise<void>,
): Promise<boolean> {
  const {
    deps: { clock },
    record: { gameSession },
    signal,
    logger,
  } = context;
  try {
    await withDeadline({ clock, ms: reportMs, what: "Reporting a save", signal }, (until) =>
      report({ ...context, signal: until }),
    );
    return true;
  } catch (error) {
    signal.throwIfAborted();
    logger.warn(
      { err: error, gameSession },
      "The stored save of a session could not be reported. It is retried.",
    );
    return false;
  }
}

async function reportBefore(context: StepContext, { refused }: SpoolManifest): Promise<void> {
  const { deps, record, session, signal } = context;
  // An earlier pass may have stored it when the API server took no report.
  if (record.stored !== undefined && isNotReported(record.stored, session.status?.save))
    await reportStored(context, record.stored);
  if (refused !== undefined)
    await deps.reporter.report(session, [notFinal(refused.reason, refused.message)], undefined, signal);
}

/** Returns the time until the next look, in milliseconds. */
async function storeWhenDue(context: StepContext, manifest: SpoolManifest): Promise<number> {
  const { deps, record } = context;
  const answered = await answeredRequest(context, manifest);
  if (
    manifest.save === undefined ||
    (isStored(record, manifest.save) && !isFirstOfRequest(context, manifest.save, answered))
  ) {
    return (await reportKept(context, manifest, answered)) ? deps.saveIntervalMs : retryAfterMs(context);
  }
  const dueInMs = answered === undefined ? dueMs(context) - deps.clock.now().getTime() : 0;
  // A wait of more than an interval would only come of a clock that was put back.
  if (dueInMs > 0 && dueInMs <= deps.saveIntervalMs) return dueInMs;
  return deps.turns.upload(uploadOf(context, answered !== undefined), async () =>
    storeDue(await lookAgain(context)),
  );
}

/** Stores the newest pack there is when the turn has come. */
async function storeDue(context: StepContext): Promise<number> {
  const {
    deps,
    world: {
      spool: { manifest },
    },
  } = context;
  if (manifest?.save === undefined) return deps.saveIntervalMs;
  let next: SessionRecord | undefined;
  try {
    next = await storePack(context, manifest.save, false, await answeredRequest(context, manifest));
  } catch (error) {
    await hasReported(context, (until) => reportSaveFailure(until, error));
    // Nothing gets better before the packer writes anew.
    if (error instanceof SpoolUnreadable) return deps.saveIntervalMs;
    throw error;
  }
  const stored = next?.stored;
  if (stored === undefined) return 100; // The manifest that names the newer pack is about to come.
  deps.onSaveStored("stored");
  const isReported = await hasReported(context, (until) => reportStored(until, stored));
  return isReported ? deps.saveIntervalMs : retryAfterMs(context);
}

/**
 * Returns whether a player who has changed nothing since the session began asked for this save: it becomes a
 * save of this session.
 */
function isFirstOfRequest(
  { record }: StepContext,
  { files }: PackedSave,
  answered: string | undefined,
): boolean {
  return answered !== undefined && record.stored === undefined && files > 0;
}

/**
 * Returns whether the session shows that its saves could not be kept, or, which somebody else has written,
 * that nothing more is to be stored.
 */
function isTroubled({ status }: GameSession, { outcome }: SessionRecord): boolean {
  const persisted = findCondition(status?.conditions, "SavePersisted");
  if (persisted?.status === "True") return outcome === undefined;
  return persisted?.status === "False" && persisted.reason !== saveReasons.playing;
}

function isNotReported(stored: StoredSave, reported: StoredSave | undefined): boolean {
  return reported?.objectKey !== stored.objectKey || reported.requestedAt !== stored.requestedAt;
}

/**
 * Passes the player's request on to the packer. Returns the request once the packer has answered it;
 * undefined until then, and when its save is marked already. A packer that could not pack the folder has not
 * answered: the save that it has is an older one.
 */
async function answeredRequest(
  { deps, record, session, logger }: StepContext,
  { answered, refused }: SpoolManifest,
): Promise<string | undefined> {
  const { saveRequestedAt } = session.spec;
  if (saveRequestedAt === undefined || record.stored?.requestedAt === saveRequestedAt) return undefined;
  if (answered === saveRequestedAt) return refused === undefined ? answered : undefined;
  try {
    await requestSave(deps.files.folder(record.gameSession), record.uid, saveRequestedAt);
  } catch (error) {
    // It is passed on once the disk takes it, which may be full, read-only or failing: what is packed already
    // is stored meanwhile.
    if (systemErrorCode(error) === undefined) throw error;
    logger.warn(
      { err: error, gameSession: record.gameSession },
      "A player's save request could not be written to the disk. It is retried.",
    );
  }
  return undefined;
}

/**
 * Reports what is new where no save is to be stored: the response to a request, by the save that is stored
 * already or by the word that the game has written none, or that trouble is over. Returns whether nothing is
 * left to report.
 */
async function reportKept(
  context: StepContext,
  { refused }: SpoolManifest,
  answered: string | undefined,
): Promise<boolean> {
  const { record, session } = context;
  if (answered !== undefined && record.stored === undefined) return hasReported(context, reportNothing);
  const stored =
    answered !== undefined && record.stored !== undefined
      ? await markRequested(context, record.stored, answered)
      : record.stored;
  const isNews = stored !== record.stored || (refused === undefined && isTroubled(session, record));
  return !isNews || hasReported(context, (until) => reportStored(until, stored));
}

async function reportNothing({ deps, session, signal }: StepContext): Promise<void> {
  const nothing = notFinal(
    saveReasons.nothingToSave,
    "The player asked for a save, but the game has not written one. The game continues.",
  );
  await deps.reporter.report(session, [nothing], undefined, signal);
}

/**
 * Marks a save that is stored already as the one that the player asked for, in the node's record; returns it.
 * A later pass reports it where this one cannot.
 */
async function markRequested(
  { deps, record }: StepContext,
  stored: StoredSave,
  requestedAt: string,
): Promise<StoredSave> {
  const marked = { ...stored, requestedAt };
  await deps.files.writeStored({ ...record, stored: marked });
  return marked;
}

async function reportStored(
  {
    deps,
    session,
    world: {
      spool: { manifest },
    },
    signal,
  }: StepContext,
  stored: StoredSave | undefined,
): Promise<void> {
  const message =
    stored === undefined
      ? "There is no save to store. The game continues."
      : `Save ${stored.sequence} is stored. The game continues.`;
  const findings = manifest?.refused === undefined ? [notFinal(saveReasons.playing, message)] : [];
  await deps.reporter.report(session, findings, stored, signal);
}

/** Reports why a save could not be stored; it is tried again. */
export async function reportSaveFailure(
  { deps, session, signal }: StepContext,
  error: unknown,
): Promise<void> {
  deps.onSaveStored("failed");
  await deps.reporter.report(session, [notFinal(reasonOf(error), messageOf(error))], undefined, signal);
}

/** Returns the finding that the last save is not stored yet. */
export function notFinal(reason: string, message: string): Finding<"SavePersisted"> {
  return { type: "SavePersisted", status: "False", reason, message };
}

function reasonOf(error: unknown): SaveReason {
  if (error instanceof SpoolUnreadable) return saveReasons.spoolUnreadable;
  if (isObjectStoreUnreachable(error)) return saveReasons.storeUnreachable;
  return error instanceof ObjectStoreError ? saveReasons.storeRefused : saveReasons.saveFailed;
}

/** Returns the session's upload as it waits for its turn. */
export function uploadOf(context: RecordContext, isAwaited: boolean): WaitingUpload {
  const { namespace, gameSession: name } = context.record;
  return { key: keyOfRef({ namespace, name }), dueMs: dueMs(context), isAwaited };
}

/** Returns when the next upload may begin, in milliseconds since 1970. */
function dueMs({ record: { stored }, deps: { saveIntervalMs } }: RecordContext): number {
  return stored === undefined ? 0 : Date.parse(stored.persistedAt) + saveIntervalMs;
}
