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
import { rereadSpool, type RecordContext, retryMs, type Step, type StepContext } from "./step.ts";

/** Maximum time that a pass waits for the API server to accept a report. */
const reportMs = 5_000;

/**
 * Stores the packer's newest pack while the game is played, at most once per interval. A pack that the player
 * requested is stored immediately. A report that the API server does not accept delays no upload and is
 * retried soon.
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

/** Returns the milliseconds until a failed report is retried. */
function retryAfterMs({ deps: { saveIntervalMs } }: StepContext): number {
  return Math.min(saveIntervalMs, retryMs);
}

/**
 * Returns whether the report succeeded. A failed pass would delay the next pack by its back-off, so errors
 * are only logged.
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
  // An earlier pass may have stored it while the API server accepted no report.
  if (record.stored !== undefined && isNotReported(record.stored, session.status?.save))
    await reportStored(context, record.stored);
  if (refused !== undefined)
    await deps.reporter.report(
      session,
      [savePendingFinding(refused.reason, refused.message)],
      undefined,
      signal,
    );
}

/** Stores the newest pack if it is due. Returns the milliseconds until the next pass. */
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
  // A wait of more than an interval means that the clock was set back.
  if (dueInMs > 0 && dueInMs <= deps.saveIntervalMs) return dueInMs;
  return deps.turns.upload(uploadOf(context, answered !== undefined), async () =>
    storeDue(await rereadSpool(context)),
  );
}

/** Stores the newest pack once it is this session's turn. Returns the milliseconds until the next pass. */
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
    // A retry helps only after the packer has written again.
    if (error instanceof SpoolUnreadable) return deps.saveIntervalMs;
    throw error;
  }
  const stored = next?.stored;
  if (stored === undefined) return 100; // The manifest that names the newer pack is about to appear.
  deps.onSaveStored("stored");
  const isReported = await hasReported(context, (until) => reportStored(until, stored));
  return isReported ? deps.saveIntervalMs : retryAfterMs(context);
}

/**
 * Returns whether the pack answers the player's request although nothing has changed since the session began.
 * It is then stored as a save of this session.
 */
function isFirstOfRequest(
  { record }: StepContext,
  { files }: PackedSave,
  answered: string | undefined,
): boolean {
  return answered !== undefined && record.stored === undefined && files > 0;
}

/**
 * Returns whether the session reports that its saves could not be stored or, after an edit by somebody else,
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
 * Passes the player's request to the packer. Returns the request once the packer has answered it. Undefined
 * until then, and if its save is already marked. A packer that could not pack the folder has not answered:
 * its save is an older one.
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
    // The disk may be full, read-only or failing. The request is retried, and existing packs are stored
    // regardless.
    if (systemErrorCode(error) === undefined) throw error;
    logger.warn(
      { err: error, gameSession: record.gameSession },
      "A player's save request could not be written to the disk. It is retried.",
    );
  }
  return undefined;
}

/**
 * Reports news if there is no save to store: that a request is answered by the stored save or by the fact
 * that the game has written none, or that an earlier problem is over. Returns whether nothing is left to
 * report.
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
  const nothing = savePendingFinding(
    saveReasons.nothingToSave,
    "The player asked for a save, but the game has not written one. The game continues.",
  );
  await deps.reporter.report(session, [nothing], undefined, signal);
}

/**
 * Marks a stored save as the answer to the player's request in the node's record, and returns it. If it
 * cannot be reported now, a later pass reports it.
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
  const findings = manifest?.refused === undefined ? [savePendingFinding(saveReasons.playing, message)] : [];
  await deps.reporter.report(session, findings, stored, signal);
}

/** Reports why a save could not be stored. Storing is retried. */
export async function reportSaveFailure(
  { deps, session, signal }: StepContext,
  error: unknown,
): Promise<void> {
  deps.onSaveStored("failed");
  await deps.reporter.report(
    session,
    [savePendingFinding(reasonOf(error), messageOf(error))],
    undefined,
    signal,
  );
}

/** Returns the finding that the last save is not stored yet. */
export function savePendingFinding(reason: string, message: string): Finding<"SavePersisted"> {
  return { type: "SavePersisted", status: "False", reason, message };
}

function reasonOf(error: unknown): SaveReason {
  if (error instanceof SpoolUnreadable) return saveReasons.spoolUnreadable;
  if (isObjectStoreUnreachable(error)) return saveReasons.storeUnreachable;
  return error instanceof ObjectStoreError ? saveReasons.storeRefused : saveReasons.saveFailed;
}

/** Returns the session's upload for the queue of waiting uploads. */
export function uploadOf(context: RecordContext, isAwaited: boolean): WaitingUpload {
  const { namespace, gameSession: name } = context.record;
  return { key: keyOfRef({ namespace, name }), dueMs: dueMs(context), isAwaited };
}

/** Returns when the next upload may begin, in milliseconds since 1970. */
function dueMs({ record: { stored }, deps: { saveIntervalMs } }: RecordContext): number {
  return stored === undefined ? 0 : Date.parse(stored.persistedAt) + saveIntervalMs;
}
