import { gameNodeEventReasons, saveReasons } from "#contracts/crd/reasons.ts";
import type { ReconcileResult } from "#kube/controller.ts";
import { SpoolUnreadable } from "../../spool/readSpool.ts";
import type { SessionRecord } from "../record.ts";
import { mayStillPack, type SessionWorld } from "../world.ts";
import { giveUp } from "./settle.ts";
import { retryMs, type RecordContext, type SessionDeps } from "./step.ts";
import { lookAgain } from "./lookAgain.ts";
import { hasLivePod, storeNewest } from "./storeLast.ts";

/** Stores what a session has left here after it was removed from the cluster or went on elsewhere, and then forgets the session. */
export async function resolveAbsence(context: RecordContext): Promise<ReconcileResult | undefined> {
  const { deps, record, world: { pod, spool }, signal } = context;
  const again = { requeueAfterMs: retryMs };
  const session = await deps.gameSessions.client.find({ name: record.gameSession, namespace: record.namespace }, { signal });
  if (session?.metadata.uid === record.uid && session.status?.nodeName === deps.node) return again;
  const isDone = spool.manifest?.final === true;
  if (!isDone && (pod !== undefined ? mayStillPack(pod) : await hasLivePod(context))) return again;
  // The pod of a new session of the name may have its folder mounted already.
  const isNameTaken = session !== undefined && session.metadata.uid !== record.uid && [undefined, deps.node].includes(session.status?.nodeName);
  return resolveLeft(isDone || pod !== undefined ? context : await lookAgain(context), isNameTaken);
}

async function resolveLeft(context: RecordContext, isNameTaken: boolean): Promise<ReconcileResult | undefined> {
  const { deps, record, world, signal } = context;
  // A new session of the same name may have been waiting for the place.
  const again = { requeueAfterMs: isNameTaken ? 0 : retryMs };
  if (record.outcome !== undefined || hasNothing(world)) {
    await giveUp(deps, record, isNameTaken);
    return again;
  }
  if (world.spool.manifest === undefined && world.formerSaves !== undefined) {
    await deps.packFormerSaves({ saves: world.formerSaves, sessionFolder: deps.files.folder(record.gameSession), uid: record.uid, signal });
    return { requeueAfterMs: 0 };
  }
  const next = await storeOrRefuse(context);
  if (next === undefined) return { requeueAfterMs: 100 };
  tellAdmin(deps, next);
  await giveUp(deps, next, isNameTaken);
  return again;
}

function hasNothing({ spool, unreadable, formerSaves, record }: SessionWorld): boolean {
  return spool.manifest === undefined && unreadable === undefined && !(record?.version === 1 && formerSaves !== undefined);
}

async function storeOrRefuse(context: RecordContext): Promise<SessionRecord | undefined> {
  const { deps, record, world: { unreadable } } = context;
  try {
    if (unreadable !== undefined) throw unreadable;
    return await storeNewest(context);
  } catch (error) {
    if (!(error instanceof SpoolUnreadable)) throw error;
    const next = { ...record, outcome: { reason: saveReasons.spoolUnreadable, message: error.message } };
    await deps.files.writeStored(next);
    return next;
  }
}

/** A save that no GameSession names any more is of use only to an admin who knows of it. */
function tellAdmin(deps: SessionDeps, { gameSession, stored }: SessionRecord): void {
  const gameNode = deps.gameNode();
  if (stored === undefined || gameNode === undefined) return;
  const note = `The save of the former session ${gameSession} is stored as ${stored.objectKey}; no slot may point to it.`;
  deps.events.record(gameNode, { type: "Warning", reason: gameNodeEventReasons.orphanedSave, action: "Store", note });
}
