import { lstat } from "node:fs/promises";
import { ArchiveRefused } from "#contracts/archive/archiveRefused.ts";
import type { ArchiveSource, GameCache } from "#contracts/crd/gameCache.ts";
import type { GameNode } from "#contracts/crd/gameNode.ts";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import { contentDirectory } from "#contracts/nodeLayout.ts";
import type { Clock } from "#kube/clock.ts";
import type { Stored } from "#kube/object.ts";
import type { ResourceClient } from "#kube/resourceClient.ts";
import type { ContentCache } from "../cache/contentCache.ts";
import { restoreSave } from "../saves/restoreSave.ts";
import { ChecksumMismatch, isStoreUnreachable, ObjectStoreError } from "../store/errors.ts";
import type { ObjectStore } from "../store/objectStore.ts";
import type { SessionRecord } from "./record.ts";
import type { Finding } from "./report.ts";
import type { SessionFiles } from "./sessionFiles.ts";

export interface PrepareDeps {
  root: string;
  cache: ContentCache;
  files: SessionFiles;
  store: ObjectStore;
  bucket: string;
  gameCaches: ResourceClient<GameCache>;
  gameNode: () => GameNode | undefined;
  clock: Clock;
  random: () => number;
}

/** Sees that the game's files are here; what is missing is on its way when this resolves. */
export async function ensureContent(deps: PrepareDeps, { metadata, spec }: Stored<GameSession>, signal: AbortSignal): Promise<Finding> {
  const { cache } = deps;
  const { contentDigest } = spec;
  const finding = (status: Finding["status"], reason: string, message: string): Finding => ({ type: "ContentReady", status, reason, message });
  if (cache.stateOf(contentDigest)?.state !== "Ready") {
    const source = await findSource(deps, spec.gameCacheRef.name, metadata.namespace, contentDigest, signal);
    if (source === undefined) return finding("False", "SourceUnknown", `The GameCache ${spec.gameCacheRef.name} names no archive with this digest.`);
    cache.demand(metadata.name, source);
  }
  const content = cache.stateOf(contentDigest);
  if (content?.state === "Failed") return finding("False", content.failure.reason, content.failure.message);
  if (content?.state !== "Ready") return finding("False", "Downloading", "The game is being fetched from the object store.");
  await cache.markUsed(contentDigest);
  const missing = await missingPart(contentDirectory(deps.root, contentDigest), spec);
  return missing === undefined
    ? finding("True", "Unpacked", "The game's files are on the node.")
    : finding("False", "ArchiveIncomplete", `The archive has no ${missing} at its root.`);
}

/** The save directory as the slot has it; a restored one is left alone. */
export async function ensureSave(deps: PrepareDeps, { gameSession, baseSave }: SessionRecord, signal: AbortSignal): Promise<Finding> {
  const { files, store, bucket, clock, random } = deps;
  const finding = (status: Finding["status"], reason: string, message: string): Finding => ({ type: "SaveRestored", status, reason, message });
  const done = baseSave === undefined
    ? finding("True", "NewPlaythrough", "The slot has no save yet: the game starts anew.")
    : finding("True", "Restored", "The slot's save is in place.");
  if (await files.isPrepared(gameSession)) return done;
  const save = baseSave === undefined ? undefined : { location: { bucket, key: baseSave.objectKey }, sha256: baseSave.sha256 };
  try {
    await restoreSave({ save, saveDirectory: files.saveDirectory(gameSession), store, clock, random, signal });
    return done;
  } catch (error) {
    const reason = failureReason(error);
    if (reason === undefined || !(error instanceof Error)) throw error;
    return finding("False", reason, error.message);
  }
}

/** What the session starts from, for the node to remember. */
export function recordOf({ metadata, spec }: Stored<GameSession>): SessionRecord {
  const { slotId, generation, objectKey, sha256 } = spec.saveSlot;
  return {
    version: 1,
    namespace: metadata.namespace ?? "default",
    gameSession: metadata.name,
    uid: metadata.uid,
    contentDigest: spec.contentDigest,
    slotId,
    baseGeneration: generation,
    ...objectKey === undefined || sha256 === undefined ? {} : { baseSave: { objectKey, sha256 } },
    sequence: 0,
  };
}

async function findSource(deps: PrepareDeps, name: string, namespace: string | undefined, digest: string, signal: AbortSignal): Promise<ArchiveSource | undefined> {
  const desired = deps.gameNode()?.spec.desired.find((content) => content.digest === digest);
  if (desired !== undefined) return desired.source;
  const gameCache = await deps.gameCaches.find({ name, namespace }, { signal });
  if (gameCache === undefined) return undefined;
  return [gameCache.spec.source, ...gameCache.spec.previousSources ?? []].find(({ sha256 }) => sha256 === digest);
}

async function missingPart(content: string, { launcher, engineDir }: GameSession["spec"]): Promise<string | undefined> {
  const [script, engine] = await Promise.all([launcher, engineDir].map((name) => lstat(`${content}/${name}`).catch(() => undefined)));
  if (script?.isFile() !== true) return `file ${launcher}`;
  return engine?.isDirectory() === true ? undefined : `directory ${engineDir}`;
}

function failureReason(error: unknown): string | undefined {
  if (error instanceof ChecksumMismatch) return "ChecksumMismatch";
  if (error instanceof ArchiveRefused) return "SaveRefused";
  if (isStoreUnreachable(error)) return "StoreUnreachable";
  if (error instanceof ObjectStoreError) return error.failure === "NotFound" ? "SaveMissing" : "StoreRefused";
  return undefined;
}
