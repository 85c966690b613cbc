import type { GameCache } from "#contracts/crd/gameCache.ts";
import type { GameNode } from "#contracts/crd/gameNode.ts";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import type { Pod } from "#kube/api/builtin.ts";
import type { Stored } from "#kube/api/object.ts";
import type { CacheReader } from "#kube/cache/cache.ts";
import type { ResourceClient } from "#kube/client/resourceClient.ts";
import type { ReconcileResult } from "#kube/controllers/controller.ts";
import type { EventSink } from "#kube/controllers/eventRecorder.ts";
import type { Logger } from "#runtime/logger.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { ContentCache } from "../../cache/contentCache.ts";
import type { ObjectStore } from "../../objectStore/objectStore.ts";
import { type ReadFailures, readSpool, type Spool, type SpoolWatcher } from "../../spool/readSpool.ts";
import type { SessionRecord } from "../record.ts";
import type { SessionReporter } from "../report.ts";
import type { SessionFiles } from "../sessionFiles.ts";
import type { TransferTurns } from "../transferTurns.ts";
import type { SessionWorld } from "../world.ts";

/** Dependencies of the session reconciler. */
export interface SessionDeps {
  node: string;
  root: string;
  cache: ContentCache;
  files: SessionFiles;
  readFailures: ReadFailures;
  watcher: SpoolWatcher;
  objectStore: ObjectStore;
  bucket: string;
  gameCaches: ResourceClient<GameCache>;
  gameSessions: { cache: CacheReader<GameSession>; client: ResourceClient<GameSession> };
  pods: { cache: CacheReader<Pod>; client: ResourceClient<Pod> };
  gameNode: () => Stored<GameNode> | undefined;
  reporter: SessionReporter;
  events: EventSink;
  turns: TransferTurns;
  /** Uids of the sessions whose output is stored. */
  storedOutputs: Set<string>;
  saveIntervalMs: number;
  onSaveStored: (outcome: "stored" | "unchanged" | "failed") => void;
  /** Called for each session folder that is set aside, with the reason. */
  onKept: (kept: string, reason: Error) => void;
  clock: Clock;
  random: () => number;
}

/** The state of a session in a pass, whether or not the cluster still has it. */
export interface RecordContext {
  deps: SessionDeps;
  record: SessionRecord;
  world: SessionWorld;
  signal: AbortSignal;
  logger: Logger;
}

/** Inputs of a step. */
export interface StepContext extends RecordContext {
  session: Stored<GameSession>;
}

/** One step of a session. A step that throws is retried after a back-off. */
export type Step = (context: StepContext) => Promise<ReconcileResult | undefined>;

/** Interval at which a step polls for another program's progress. */
export const retryMs = 5_000;

/** Returns what the packer has reported about the session. @throws SpoolUnreadable, or a transient error */
export function readSpoolOf(
  { files, readFailures }: SessionDeps,
  { gameSession, uid }: SessionRecord,
): Promise<Spool> {
  return readFailures.during(gameSession, "words", () => readSpool(files.folder(gameSession), uid));
}

/**
 * Reads the spool again, because the packer may have written since the pass began.
 *
 * @throws SpoolUnreadable
 */
export async function rereadSpool<Context extends RecordContext>(context: Context): Promise<Context> {
  const { deps, record, world } = context;
  if (world.unreadable !== undefined) return context;
  return { ...context, world: { ...world, spool: await readSpoolOf(deps, record) } };
}
