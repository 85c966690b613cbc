import { saveReasons } from "#contracts/crd/gameSessionReasons.ts";
import { gameNodeEventReasons } from "#contracts/crd/gameNodeReasons.ts";
import type { ReconcileResult } from "#kube/controllers/controller.ts";
import { SpoolUnreadable } from "../../spool/readSpool.ts";
import type { SessionRecord } from "../record.ts";
import { mayStillPack, type SessionWorld } from "../world.ts";
import { giveUp, hasLivePod, storeNewest } from "./storeLast.ts";
import { rereadSpool, type RecordContext, retryMs, type SessionDeps } from "./step.ts";

/**
 * Stores the session's last save here after it was removed from the cluster or moved to another node. Then
 * forgets the session.
 */
export async function resolveAbsence(context: RecordContext): Promise<ReconcileResult | undefined> {
  const {
    world: { pod, spool },
  } = context;
  const again = { requeueAfterMs: retryMs };
  const claim = await claimOf(context);
  if (claim === "own") return again;
  const isDone = spool.manifest?.final === true;
  if (!isDone && (pod !== undefined ? mayStillPack(pod) : await hasLivePod(context))) return again;
  return resolveLeft(isDone || pod !== undefined ? context : await rereadSpool(context), claim);
}

/**
 * The owner of the session's folder: the session itself again, nobody, or possibly a new session of the same
 * name, whose pod may have it mounted already.
 */
type Claim = "own" | "another's" | "nobody's";

async function claimOf({ deps, record, signal }: RecordContext): Promise<Claim> {
  const session = await deps.gameSessions.client.find(
    { name: record.gameSession, namespace: record.namespace },
    { signal },
  );
  const nodeName = session?.status?.nodeName;
  if (session?.metadata.uid === record.uid) return nodeName === deps.node ? "own" : "nobody's";
  return session !== undefined && [undefined, deps.node].includes(nodeName) ? "another's" : "nobody's";
}

async function resolveLeft(context: RecordContext, claim: Claim): Promise<ReconcileResult | undefined> {
  const { deps, record, world } = context;
  if (record.outcome !== undefined || hasNothing(world)) return giveUpTo(claim, deps, record);
  const next = await storeOrRefuse(context);
  if (next === undefined) return { requeueAfterMs: 100 };
  recordOrphanedSave(deps, next);
  // The upload may have taken minutes.
  return giveUpTo(await claimOf(context), deps, next);
}

async function giveUpTo(claim: Claim, deps: SessionDeps, record: SessionRecord): Promise<ReconcileResult> {
  if (claim !== "own") await giveUp(deps, record, claim === "another's");
  // A new session of the same name may have been waiting for the folder.
  return { requeueAfterMs: claim === "another's" ? 0 : retryMs };
}

function hasNothing({ spool, unreadable }: SessionWorld): boolean {
  return spool.manifest === undefined && unreadable === undefined;
}

async function storeOrRefuse(context: RecordContext): Promise<SessionRecord | undefined> {
  const {
    deps,
    record,
    world: { unreadable },
  } = context;
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

/** Records an event, because only an admin can use a save that no GameSession names. */
function recordOrphanedSave(deps: SessionDeps, { gameSession, stored }: SessionRecord): void {
  const gameNode = deps.gameNode();
  if (stored === undefined || gameNode === undefined) return;
  const note = `The save of the removed session ${gameSession} is stored as ${stored.objectKey}. It may not belong to any slot.`;
  deps.events.record(gameNode, {
    type: "Warning",
    reason: gameNodeEventReasons.orphanedSave,
    action: "Store",
    note,
  });
}
