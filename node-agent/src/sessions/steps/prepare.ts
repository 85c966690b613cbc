import { lstat } from "node:fs/promises";
import type { ArchiveSource } from "#contracts/crd/gameCache.ts";
import type { GameNode } from "#contracts/crd/gameNode.ts";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import {
  contentReasons,
  gameSessionEventReasons,
  packerRestoreReasons,
  restoreReasons,
  type ContentReason,
  type RestoreReason,
} from "#contracts/crd/gameSessionReasons.ts";
import { contentDirectory } from "#contracts/nodeLayout.ts";
import type { EventNote } from "#kube/controllers/eventRecorder.ts";
import { isPrepared } from "#contracts/crd/sessionState.ts";
import { keyOf, type Stored } from "#kube/api/object.ts";
import { withDeadline } from "#runtime/scheduling/deadline.ts";
import { isDiskFull } from "../../disk/files.ts";
import { makePackedFolder, orderRestore } from "../../spool/orderRestore.ts";
import {
  ChecksumMismatch,
  isObjectStoreUnreachable,
  ObjectStoreError,
} from "../../objectStore/objectStore.ts";
import type { SessionRecord } from "../record.ts";
import { shownWithinMs, type Finding } from "../report.ts";
import { whileLaunching } from "../world.ts";
import { retryMs, type SessionDeps, type Step, type StepContext } from "./step.ts";

/** Maximum time that a launch waits for a save. */
const restoreDeadlineMs = 10 * 60_000;
/**
 * More packs than a session makes on one node. Even with the maximum number of nodes in a status, the total
 * fits into the key of a save.
 */
const packsPerNode = 10_000_000;

/**
 * Prepares the game's files and orders the restore of the save. If the disk is full even after evicting
 * unused games, reports that.
 */
export const prepare: Step = async (context) => {
  try {
    return await prepareFiles(context);
  } catch (error) {
    if (!isDiskFull(error)) throw error;
  }
  await context.deps.cache.relieve();
  try {
    return await prepareFiles(context);
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    const {
      deps: { reporter, events, node },
      session,
      signal,
    } = context;
    const full: Finding = {
      type: "ContentReady",
      status: "False",
      reason: contentReasons.insufficientSpace,
      message: "The node's disk is full. There is no room for the session's files.",
    };
    if (await reporter.report(session, [full], undefined, signal))
      events.record(session, eventOf([full], node));
    return { requeueAfterMs: retryMs };
  }
};

/** If game and save are ready quickly, one write reports both. */
const prepareFiles: Step = async (context) => {
  const { deps, session, record, world, signal } = context;
  if (world.record !== record) await deps.files.write(record);
  // The folder exists, but an agent that died or ran out of space right after it wrote the record did not
  // create this one.
  else if (!world.isOrdered) await makePackedFolder(deps.files.folder(record.gameSession));
  // Before the order, so that no report of the packer is missed.
  deps.watcher.follow(keyOf(session), deps.files.packedFolder(record.gameSession));
  const content = await findContent(deps, session, signal);
  // The order comes last, because the save directory that follows it starts the game.
  const save = content.status === "True" ? await findSave(context) : undefined;
  const findings = save === undefined ? [content] : [content, save];
  const isUnderWay = save?.status === "Unknown";
  // The operator learns from the GameNode that a cached game is there. The session's status is written only
  // after a download that the session waited for, or for a game that the GameNode does not list.
  if (isUnderWay && !hasAwaitedContent(session) && isListed(deps.gameNode(), record.contentDigest))
    return { requeueAfterMs: retryMs };
  const isNews = await deps.reporter.report(session, findings, undefined, signal);
  if (isNews) deps.events.record(session, eventOf(findings, deps.node));
  if (save?.status !== "True") return { requeueAfterMs: retryMs };
  deps.cache.release(session.metadata.name);
  return isPrepared(session) ? undefined : { requeueAfterMs: shownWithinMs };
};

/** Returns the record of the session's starting point on this node. */
export function recordOf({ metadata, spec, status }: Stored<GameSession>, node: string): SessionRecord {
  const { slotId, generation, objectKey, sha256 } = spec.saveSlot;
  return {
    version: 2,
    namespace: metadata.namespace ?? "default",
    gameSession: metadata.name,
    uid: metadata.uid,
    contentDigest: spec.contentDigest,
    slotId,
    baseGeneration: generation,
    ...(objectKey === undefined || sha256 === undefined ? {} : { baseSave: { objectKey, sha256 } }),
    sequence: nodesBefore(status?.placement?.triedNodes ?? [], node) * packsPerNode,
  };
}

/**
 * Returns the number of nodes that were given up before the session came to this one. Each packer counts from
 * 1, so only this offset distinguishes the saves of two nodes. A node that is given up while its agent is
 * silent may have a pack, and stores it when the agent returns.
 */
function nodesBefore(triedNodes: readonly string[], node: string): number {
  const place = triedNodes.indexOf(node);
  return place === -1 ? triedNodes.length : place;
}

function hasAwaitedContent({ status }: GameSession): boolean {
  return (
    status?.conditions?.some(({ type, status: said }) => type === "ContentReady" && said === "False") ?? false
  );
}

/** Returns whether the GameNode lists the version as unpacked. */
function isListed(gameNode: GameNode | undefined, contentDigest: string): boolean {
  return (
    gameNode?.status?.cache?.entries.some(
      ({ digest, state }) => digest === contentDigest && state === "Ready",
    ) ?? false
  );
}

/** Returns whether the game's files are on the node. Requests the download if they are not. */
async function findContent(
  deps: SessionDeps,
  { metadata, spec }: Stored<GameSession>,
  signal: AbortSignal,
): Promise<Finding<"ContentReady">> {
  const { cache } = deps;
  const { contentDigest } = spec;
  const finding = (
    status: Finding["status"],
    reason: ContentReason,
    message: string,
  ): Finding<"ContentReady"> => ({ type: "ContentReady", status, reason, message });
  const isHere = cache.stateOf(contentDigest)?.state === "Ready" && (await cache.markUsed(contentDigest));
  if (!isHere) {
    const source = await findSource(
      deps,
      { name: spec.gameCacheRef.name, namespace: metadata.namespace },
      contentDigest,
      signal,
    );
    if (source === undefined)
      return finding(
        "False",
        contentReasons.sourceUnknown,
        `The GameCache ${spec.gameCacheRef.name} has no archive with this digest.`,
      );
    cache.demand(metadata.name, source);
  }
  const content = cache.stateOf(contentDigest);
  if (content?.state === "Failed") return finding("False", content.failure.reason, content.failure.message);
  if (content?.state !== "Ready")
    return finding(
      "False",
      contentReasons.downloading,
      "The game is being downloaded from the object store.",
    );
  const missing = await missingPart(contentDirectory(deps.root, contentDigest), spec);
  return missing === undefined
    ? finding("True", contentReasons.unpacked, "The game's files are on the node.")
    : finding("False", contentReasons.archiveIncomplete, `The archive has no ${missing} at its root.`);
}

/** Orders the restore once. Returns the packer's report of it. */
async function findSave(context: StepContext): Promise<Finding<"SaveRestored">> {
  const {
    record: { baseSave },
    world,
  } = context;
  const finding = (
    status: Finding["status"],
    reason: RestoreReason,
    message: string,
  ): Finding<"SaveRestored"> => ({ type: "SaveRestored", status, reason, message });
  const { report } = world.spool;
  if (report?.refused !== undefined)
    return finding("False", terminalReasonOf(report.refused.reason), report.refused.message);
  if (!world.isOrdered) {
    try {
      await orderSave(context);
    } catch (error) {
      const reason = failureReason(error);
      if (reason === undefined || !(error instanceof Error)) throw error;
      return finding("False", reason, error.message);
    }
  }
  if (baseSave === undefined)
    return finding(
      "True",
      restoreReasons.newPlaythrough,
      "The slot has no save yet. The game starts from the beginning.",
    );
  return report === undefined
    ? finding(
        "Unknown",
        restoreReasons.restoring,
        "The slot's save is on the node and is restored when the pod runs.",
      )
    : finding("True", restoreReasons.restored, "The slot's save is restored.");
}

/**
 * Waits for its turn, fetches the slot's save and orders the restore. A new playthrough has nothing to wait
 * for. A launch that is cancelled releases its transfer slot immediately.
 *
 * @throws LaunchCancelled
 */
async function orderSave({ deps, session, record, signal }: StepContext): Promise<void> {
  const { files, objectStore, bucket, clock, random, turns } = deps;
  const { baseSave, gameSession, uid } = record;
  const order = { sessionFolder: files.folder(gameSession), uid, objectStore, clock, random };
  if (baseSave === undefined) return orderRestore({ ...order, save: undefined, signal });
  const save = { location: { bucket, key: baseSave.objectKey }, sha256: baseSave.sha256 };
  const deadline = { clock, ms: restoreDeadlineMs, what: `Fetching ${baseSave.objectKey}` };
  const launch = { cache: deps.gameSessions.cache, session, signal };
  return turns.restore(Date.parse(session.metadata.creationTimestamp), () =>
    whileLaunching(launch, (launching) =>
      withDeadline({ ...deadline, signal: launching }, (fetching) =>
        orderRestore({ ...order, save, signal: fetching }),
      ),
    ),
  );
}

async function findSource(
  deps: SessionDeps,
  ref: { name: string; namespace: string | undefined },
  digest: string,
  signal: AbortSignal,
): Promise<ArchiveSource | undefined> {
  const desired = deps.gameNode()?.spec.desired.find((content) => content.digest === digest);
  if (desired !== undefined) return desired.source;
  const gameCache = await deps.gameCaches.find(ref, { signal });
  if (gameCache === undefined) return undefined;
  return [gameCache.spec.source, ...(gameCache.spec.previousSources ?? [])].find(
    ({ sha256 }) => sha256 === digest,
  );
}

async function missingPart(
  content: string,
  { launcher, engineDir }: GameSession["spec"],
): Promise<string | undefined> {
  const [script, engine] = await Promise.all(
    [launcher, engineDir].map((name) => lstat(`${content}/${name}`).catch(() => undefined)),
  );
  if (script?.isFile() !== true) return `file ${launcher}`;
  return engine?.isDirectory() === true ? undefined : `directory ${engineDir}`;
}

/** Returns a terminal reason in any case, because the packer does not retry. */
function terminalReasonOf(reason: string): RestoreReason {
  return reason === packerRestoreReasons.saveVolumeFull
    ? restoreReasons.saveVolumeFull
    : restoreReasons.saveRefused;
}

function failureReason(error: unknown): RestoreReason | undefined {
  if (error instanceof ChecksumMismatch) return restoreReasons.checksumMismatch;
  if (isObjectStoreUnreachable(error)) return restoreReasons.storeUnreachable;
  if (error instanceof ObjectStoreError)
    return error.failure === "NotFound" ? restoreReasons.saveMissing : restoreReasons.storeRefused;
  return undefined;
}

/** Returns one event for the whole preparation: done, in progress, or blocked. */
function eventOf(findings: readonly Finding[], node: string): EventNote {
  const obstacle = findings.find(
    ({ status, reason }) => status === "False" && reason !== contentReasons.downloading,
  );
  if (obstacle !== undefined)
    return { type: "Warning", reason: obstacle.reason, action: "Prepare", note: obstacle.message };
  const underWay = findings.find(({ status }) => status !== "True");
  if (underWay !== undefined)
    return { type: "Normal", reason: underWay.reason, action: "Prepare", note: underWay.message };
  return {
    type: "Normal",
    reason: gameSessionEventReasons.prepared,
    action: "Prepare",
    note: `The game's files and the save are ready on node ${node}.`,
  };
}
