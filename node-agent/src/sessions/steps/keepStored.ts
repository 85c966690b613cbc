import type { StoredSave } from "#contracts/crd/gameSession.ts";
import { saveReasons, type SaveReason } from "#contracts/crd/reasons.ts";
import { SpoolUnreadable } from "../../spool/readSpool.ts";
import type { SessionRecord } from "../record.ts";
import type { Finding } from "../report.ts";
import { isObjectStoreUnreachable, ObjectStoreError } from "../../objectStore/errors.ts";
import { isStored, storePack } from "./storeSave.ts";
import type { Step, StepContext } from "./step.ts";

/** Stores the packer's newest pack while the game is played, at most one each interval. */
export const keepStored: Step = async (context) => {
  const { deps, record, world: { spool: { manifest } }, session, signal } = context;
  const again = { requeueAfterMs: deps.saveIntervalMs };
  if (manifest === undefined) return again;
  // An earlier pass may have stored it when the API server took no report.
  if (record.stored !== undefined && session.status?.save?.objectKey !== record.stored.objectKey) await reportStored(context, record.stored);
  if (manifest.refused !== undefined) await deps.reporter.report(session, [notFinal(manifest.refused.reason, manifest.refused.message)], undefined, signal);
  if (manifest.save === undefined || isStored(record, manifest.save)) return again;
  const dueInMs = dueMs(context) - deps.clock.now().getTime();
  if (dueInMs > 0) return { requeueAfterMs: dueInMs };
  let next: SessionRecord | undefined;
  try {
    next = await storePack(context, manifest.save, false);
  } catch (error) {
    await reportSaveFailure(context, error);
    if (error instanceof SpoolUnreadable) return again; // Nothing gets better before the packer writes anew.
    throw error;
  }
  if (next?.stored === undefined) return { requeueAfterMs: 100 }; // The manifest that names the newer pack is about to come.
  deps.onSaveStored("stored");
  await reportStored(context, next.stored);
  return again;
};

async function reportStored({ deps, session, world: { spool: { manifest } }, signal }: StepContext, stored: StoredSave): Promise<void> {
  const findings = manifest?.refused === undefined ? [notFinal(saveReasons.playing, `Save ${stored.sequence} is stored; the game goes on.`)] : [];
  await deps.reporter.report(session, findings, stored, signal);
}

/** Reports why a save could not be stored; it is tried again. */
export async function reportSaveFailure({ deps, session, signal }: StepContext, error: unknown): Promise<void> {
  deps.onSaveStored("failed");
  await deps.reporter.report(session, [notFinal(reasonOf(error), error instanceof Error ? error.message : String(error))], undefined, signal);
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

/** Returns when the next upload may begin, in milliseconds since 1970. */
function dueMs({ record: { stored }, deps: { saveIntervalMs } }: StepContext): number {
  return stored === undefined ? 0 : Date.parse(stored.persistedAt) + saveIntervalMs;
}
