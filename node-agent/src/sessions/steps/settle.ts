import { saveEventReason, saveReasons } from "#contracts/crd/reasons.ts";
import { isFinished } from "#contracts/crd/sessionConditions.ts";
import { keyOfRef } from "#kube/api/object.ts";
import type { SessionRecord } from "../record.ts";
import { retryMs, type SessionDeps, type Step } from "./step.ts";

/** Reasons of outcomes by which nothing is lost. */
const goodReasons: ReadonlySet<string> = new Set([
  saveReasons.stored,
  saveReasons.unchanged,
  saveReasons.nothingToSave,
]);

/** Reports what became of the last save, and removes the folder when the session is finished. */
export const settle: Step = async ({ deps, session, record, signal }) => {
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
  if (isFinished(session)) await giveUp(deps, record);
  return deps.files.isUnwritten(record.gameSession) ? { requeueAfterMs: retryMs } : undefined;
};

/** Reports that there is no save, as the game never started. */
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
 * Forgets a session. Its folder is removed, or set aside when its packs cannot be read; of a name that
 * another session has by now, what is in it.
 */
export async function giveUp(
  deps: SessionDeps,
  { gameSession, namespace, uid, outcome }: SessionRecord,
  isNameTaken = false,
): Promise<void> {
  deps.cache.release(gameSession);
  deps.reporter.forget(uid);
  deps.readFailures.forget(gameSession);
  deps.watcher.leave(keyOfRef({ name: gameSession, namespace }));
  if (outcome?.reason === saveReasons.spoolUnreadable)
    deps.onKept(await deps.files.keep(gameSession, isNameTaken), new Error(outcome.message));
  else await deps.files.remove(gameSession, isNameTaken);
}
