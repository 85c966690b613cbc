import type { GameNode } from "#contracts/crd/gameNode.ts";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import type { Pod } from "#kube/builtin.ts";
import type { ReconcileContext, ReconcileResult } from "#kube/controller.ts";
import type { EventNote, EventSink } from "#kube/eventRecorder.ts";
import { refOf, type Stored } from "#kube/object.ts";
import type { ResourceClient } from "#kube/resourceClient.ts";
import type { StoreReader } from "#kube/store.ts";
import { SaveTooLarge } from "../saves/errors.ts";
import { signSave } from "../saves/signature.ts";
import { isStoreUnreachable, ObjectStoreError } from "../store/errors.ts";
import { stepFor } from "./decide.ts";
import { ensureContent, ensureSave, recordOf, type PrepareDeps } from "./prepareSession.ts";
import type { SaveOutcome, SessionRecord } from "./record.ts";
import type { Finding, SessionReporter } from "./report.ts";
import { storeSave } from "./storeSave.ts";
import { isFinished, mayWrite, type SessionWorld } from "./world.ts";

export interface SessionDeps extends PrepareDeps {
  node: string;
  gameSessions: { store: StoreReader<GameSession>; client: ResourceClient<GameSession> };
  pods: { store: StoreReader<Pod>; client: ResourceClient<Pod> };
  gameNode: () => Stored<GameNode> | undefined;
  reporter: SessionReporter;
  events: EventSink;
  saveIntervalMs: number;
  onSaveStored: (outcome: "stored" | "unchanged" | "failed") => void;
}

type Result = ReconcileResult | undefined;

const retryMs = 5_000;

/** Brings what this node holds of a session nearer to what the session needs; see decide.ts for what that is. */
export function createSessionReconcile(deps: SessionDeps): (key: string, context: ReconcileContext) => Promise<Result> {
  /** Fingerprints of what was last looked at, so that unchanged saves are not packed again. */
  const signatures = new Map<string, string>();

  async function reconcile(key: string, context: ReconcileContext): Promise<Result> {
    const world = await observe(deps, key);
    const { session, record } = world;
    switch (stepFor(world)) {
      case "prepare": return session && prepare(session, record, context);
      case "keepStored": return session && record && keepStored(session, record, context);
      case "storeLast": return session && record && storeLast(session, record, world.pod, context);
      case "reportNothing": return session && reportNothing(session, context);
      case "settle": return session && record && settle(session, record, context);
      case "resolveAbsence": return record && resolveAbsence(record, world, context);
      case "wait":
      case "nothing": return undefined;
    }
  }

  async function prepare(session: Stored<GameSession>, known: SessionRecord | undefined, { signal }: ReconcileContext): Promise<Result> {
    const record = known ?? recordOf(session);
    if (known === undefined) await deps.files.write(record);
    const findings = [await ensureContent(deps, session, signal)];
    // The save directory comes last: its appearance starts the game.
    if (isTrue(findings)) findings.push(await ensureSave(deps, record, signal));
    const isNews = await deps.reporter.report(session, findings, undefined, signal);
    if (isNews) deps.events.record(session, preparationEvent(findings, deps.node));
    if (!isTrue(findings)) return { requeueAfterMs: retryMs };
    deps.cache.release(session.metadata.name);
    return undefined;
  }

  async function keepStored(session: Stored<GameSession>, record: SessionRecord, context: ReconcileContext): Promise<Result> {
    const { name } = session.metadata;
    try {
      const signature = await signSave(deps.files.saveDirectory(name), context.signal);
      if (signatures.get(name) === signature) return { requeueAfterMs: deps.saveIntervalMs };
      const next = await storeSave(deps, record, { ...context, isFinal: false });
      signatures.set(name, signature);
      deps.onSaveStored(next.sequence === record.sequence ? "unchanged" : "stored");
      if (next.stored !== undefined) {
        const message = `Save ${next.stored.sequence} is stored; the game goes on.`;
        await deps.reporter.report(session, [notFinal("Playing", message)], next.stored, context.signal);
      }
      return { requeueAfterMs: deps.saveIntervalMs };
    } catch (error) {
      await reportSaveFailure(session, error, context);
      // A save that is too large now may be smaller next time; anything else is tried again sooner.
      if (error instanceof SaveTooLarge) return { requeueAfterMs: deps.saveIntervalMs };
      throw error;
    }
  }

  async function storeLast(session: Stored<GameSession>, record: SessionRecord, pod: Stored<Pod> | undefined, context: ReconcileContext): Promise<Result> {
    if (pod === undefined && await hasLivePod(deps, record, context.signal)) return { requeueAfterMs: 1_000 };
    try {
      const next = await storeSave(deps, record, { ...context, isFinal: true });
      deps.onSaveStored(next.sequence === record.sequence ? "unchanged" : "stored");
      return await settle(session, next, context);
    } catch (error) {
      if (!(error instanceof SaveTooLarge)) {
        await reportSaveFailure(session, error, context);
        throw error;
      }
      const next = { ...record, outcome: tooLarge(error, record) };
      await deps.files.write(next);
      deps.onSaveStored("failed");
      return settle(session, next, context);
    }
  }

  async function settle(session: Stored<GameSession>, record: SessionRecord, { signal }: ReconcileContext): Promise<Result> {
    const { outcome, stored } = record;
    if (outcome === undefined) return undefined;
    const isNews = await deps.reporter.report(session, [{ type: "SavePersisted", status: "True", ...outcome }], stored, signal);
    const type = outcome.reason === "SaveTooLarge" ? "Warning" : "Normal";
    if (isNews) deps.events.record(session, { type, reason: `Save${outcome.reason}`.replace("SaveSave", "Save"), action: "Store", note: outcome.message });
    if (isFinished(session)) await giveUp(record);
    return undefined;
  }

  async function reportNothing(session: Stored<GameSession>, { signal }: ReconcileContext): Promise<Result> {
    const { name, uid } = session.metadata;
    await deps.reporter.report(session, [{ type: "SavePersisted", status: "True", reason: "NothingToSave", message: "The game was never started." }], undefined, signal);
    deps.cache.release(name);
    if (isFinished(session)) {
      await deps.files.remove(name);
      deps.reporter.forget(uid);
    }
    return undefined;
  }

  /** The session is gone from the cluster, or goes on elsewhere: what it left here is stored all the same. */
  async function resolveAbsence(record: SessionRecord, { pod, isPrepared }: SessionWorld, context: ReconcileContext): Promise<Result> {
    const { gameSession: name, namespace } = record;
    const session = await deps.gameSessions.client.find({ name, namespace }, { signal: context.signal });
    if (session?.metadata.uid === record.uid && session.status?.nodeName === deps.node) return { requeueAfterMs: retryMs };
    if (pod !== undefined ? mayWrite(pod) : await hasLivePod(deps, record, context.signal)) return { requeueAfterMs: retryMs };
    if (record.outcome !== undefined || !isPrepared) {
      await giveUp(record);
      return { requeueAfterMs: retryMs };
    }
    const next = await storeSave(deps, record, { ...context, isFinal: true }).catch(async (error: unknown) => {
      if (!(error instanceof SaveTooLarge)) throw error;
      const failed = { ...record, outcome: tooLarge(error, record) };
      await deps.files.write(failed);
      return failed;
    });
    await tellAdmin(next);
    await giveUp(next);
    // A new session of the same name may have been waiting for the place.
    return { requeueAfterMs: retryMs };
  }

  /** A save that no GameSession names any more is of use only to somebody who knows of it. */
  async function tellAdmin({ gameSession, outcome, stored }: SessionRecord): Promise<void> {
    const gameNode = deps.gameNode();
    if (outcome?.reason !== "Stored" || stored === undefined || gameNode === undefined) return;
    const kept = await deps.files.keep(gameSession);
    const note = `The save of the former session ${gameSession} is stored as ${stored.objectKey}; no slot points to it. The directory is kept at ${kept}.`;
    deps.events.record(gameNode, { type: "Warning", reason: "OrphanedSave", action: "Store", note });
  }

  async function giveUp({ gameSession, uid, outcome }: SessionRecord): Promise<void> {
    deps.cache.release(gameSession);
    deps.reporter.forget(uid);
    signatures.delete(gameSession);
    if (outcome?.reason === "SaveTooLarge") await deps.files.keep(gameSession);
    else await deps.files.remove(gameSession);
  }

  async function reportSaveFailure(session: Stored<GameSession>, error: unknown, { signal }: ReconcileContext): Promise<void> {
    deps.onSaveStored("failed");
    const message = error instanceof Error ? error.message : String(error);
    const reason = error instanceof SaveTooLarge ? "SaveTooLarge" : isStoreUnreachable(error) ? "StoreUnreachable"
      : error instanceof ObjectStoreError ? "StoreRefused" : "SaveFailed";
    await deps.reporter.report(session, [notFinal(reason, message)], undefined, signal);
  }

  return reconcile;
}

async function observe({ gameSessions, pods, files }: SessionDeps, key: string): Promise<SessionWorld> {
  const { name } = refOf(key);
  const record = await files.read(name);
  const found = gameSessions.store.get(key);
  // Another object under the same name has nothing to do with what lies here.
  const session = found !== undefined && record !== undefined && found.metadata.uid !== record.uid ? undefined : found;
  return { session, pod: pods.store.get(key), record, isPrepared: await files.isPrepared(name) };
}

/** A fresh look, as the watch of the pods may lag behind the one of the sessions. */
async function hasLivePod({ pods, node }: SessionDeps, { gameSession, namespace }: SessionRecord, signal: AbortSignal): Promise<boolean> {
  const pod = await pods.client.find({ name: gameSession, namespace }, { signal });
  return pod !== undefined && pod.spec?.nodeName === node && mayWrite(pod);
}

/** One event for the whole preparation: done, under way, or what stands in its way. */
function preparationEvent(findings: readonly Finding[], node: string): EventNote {
  const obstacle = findings.find(({ status, reason }) => status !== "True" && reason !== "Downloading");
  if (obstacle !== undefined) return { type: "Warning", reason: obstacle.reason, action: "Prepare", note: obstacle.message };
  const underWay = findings.find(({ status }) => status !== "True");
  if (underWay !== undefined) return { type: "Normal", reason: underWay.reason, action: "Prepare", note: underWay.message };
  return { type: "Normal", reason: "Prepared", action: "Prepare", note: `The game's files and the save are ready on node ${node}.` };
}

function isTrue(findings: readonly Finding[]): boolean {
  return findings.every(({ status }) => status === "True");
}

function notFinal(reason: string, message: string): Finding {
  return { type: "SavePersisted", status: "False", reason, message };
}

/** True all the same: the agent has done what can be done, and the session need not wait. */
function tooLarge(error: SaveTooLarge, { stored }: SessionRecord): SaveOutcome {
  const newest = stored === undefined ? "The slot keeps the save the session started from" : `The slot keeps save ${stored.sequence} of this session`;
  return { reason: "SaveTooLarge", message: `${error.message} ${newest}; the directory is kept on the node for an admin.` };
}
