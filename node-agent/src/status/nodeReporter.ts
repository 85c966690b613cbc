import { isDeepStrictEqual } from "node:util";
import type { Condition } from "#contracts/crd/kind.ts";
import { type GameNode, gameNodeConditions, type GameNodeStatus } from "#contracts/crd/gameNode.ts";
import { fieldManagers } from "#contracts/crd/names.ts";
import {
  diskPressureReasons,
  sessionsSetAsideReasons,
  storeReachableReasons,
} from "#contracts/crd/gameNodeReasons.ts";
import { limits } from "#contracts/limits.ts";
import type { Lease } from "#kube/api/builtin.ts";
import { type ConditionUpdate, findCondition, setCondition } from "#kube/api/conditions.ts";
import { isForbidden, isInvalid, isNotFound } from "#kube/api/errors.ts";
import { type Stored, toApiMicroTime, toApiTime } from "#kube/api/object.ts";
import type { ResourceClient } from "#kube/client/resourceClient.ts";
import type { Logger } from "#runtime/logger.ts";
import { jittered } from "#runtime/scheduling/backOff.ts";
import { RepeatedJob } from "#runtime/scheduling/backgroundJob.ts";
import type { Clock, Timer } from "#runtime/scheduling/clock.ts";
import { DeadlineExceeded, withTimeout } from "#runtime/scheduling/deadline.ts";
import type { ContentCache } from "../cache/contentCache.ts";

/** Options of the node reporter. */
interface NodeReporterOptions {
  node: string;
  client: ResourceClient<GameNode>;
  cache: ContentCache;
  /** Returns the number of session folders that are set aside for an admin. */
  keptFolders: () => Promise<number>;
  agentVersion: string;
  /** Whether the object store responded to the last probe. */
  objectStoreState: () => { isReachable: boolean; message: string };
  /** Results of the node checks, as conditions. */
  checks: () => readonly ConditionUpdate[];
  /** Returns the current GameNode. */
  gameNode: () => GameNode | undefined;
  /** Called with the GameNode after each write. */
  onWritten: (gameNode: Stored<GameNode>) => void;
  /** Whether the agent's heartbeat is in the node's Lease. If not, each report has to include it. */
  hasLease: () => boolean;
  clock: Clock;
  random: () => number;
  logger: Logger;
}

/** Minimum interval between writes of download progress. */
const progressIntervalMs = 2_000;
/** A disk that is only busy responds within this time. */
const patienceMs = limits.node.heartbeatSeconds * 1000;
/** Changes within this time are written together. */
const settleMs = 100;

/** The part of a report that is read from the node's disk. */
interface DiskReport {
  keptFolders: number;
  cache: Awaited<ReturnType<ContentCache["report"]>>;
}

/**
 * Keeps this node's GameNode status current. Checks it once per heartbeat, and writes it if it has changed.
 */
export class NodeReporter {
  readonly #options: NodeReporterOptions;
  readonly #stopping = new AbortController();
  #conditions: Condition[] | undefined;
  #timer: Timer | undefined;
  #dueMs = Number.POSITIVE_INFINITY;
  #writing: Promise<void> = Promise.resolve();
  #isStarted = false;
  /** The running disk read. An unresponsive disk blocks it, and no other starts until it has ended. */
  #looking: Promise<DiskReport> | undefined;
  #seen: DiskReport | undefined;

  constructor(options: NodeReporterOptions) {
    this.#options = options;
  }

  /** Whether this process has written the status. */
  get hasReported(): boolean {
    return this.#conditions !== undefined;
  }

  start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    this.#options.cache.subscribe((_digest, isProgress) =>
      this.#planWithin(isProgress ? progressIntervalMs : settleMs),
    );
    this.#planWithin(0);
  }

  /** Writes the status soon, because something other than the cache has changed. */
  changed(): void {
    if (this.#isStarted) this.#planWithin(settleMs);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#timer?.cancel();
    await this.#writing;
  }

  /** Schedules the next write within `ms`. */
  #planWithin(ms: number): void {
    const { clock } = this.#options;
    const dueMs = clock.monotonicMs() + ms;
    if (this.#stopping.signal.aborted || dueMs >= this.#dueMs) return;
    this.#timer?.cancel();
    this.#dueMs = dueMs;
    this.#timer = clock.setTimer(ms, () => {
      this.#dueMs = Number.POSITIVE_INFINITY;
      this.#writing = this.#writing.then(() => this.#writeOnce());
    });
  }

  async #writeOnce(): Promise<void> {
    const { logger, random } = this.#options;
    try {
      this.#stopping.signal.throwIfAborted();
      await this.#write();
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      // The operator creates the object once it has seen the node.
      if (isNotFound(error)) logger.info({}, "This node has no GameNode yet.");
      else logger.warn({ err: error }, "The node's status could not be written. It is retried.");
    }
    this.#planWithin(jittered(limits.node.heartbeatSeconds * 1000, random, 0.1));
  }

  async #write(): Promise<void> {
    const { node, client, agentVersion, clock, gameNode, hasLease, onWritten } = this.#options;
    // Not created yet, or owned by another installation.
    if (gameNode() === undefined) return;
    const now = clock.now();
    const { keptFolders, cache } = await this.#look();
    const conditions = this.#conditionsNow(now, keptFolders);
    const status = { conditions, cache, heartbeat: { renewedAt: toApiTime(now), agentVersion } };
    if (this.hasReported && hasLease() && isReported(gameNode()?.status, status)) return;
    onWritten(
      await client.applyStatus(
        { metadata: { name: node }, status },
        {
          fieldManager: fieldManagers.nodeAgent,
          signal: this.#stopping.signal,
          deadlineMs: limits.node.heartbeatSeconds * 1000,
        },
      ),
    );
    this.#conditions = conditions;
  }

  /**
   * Returns the disk's part of the report, or the previous one if the disk does not respond, so that the rest
   * of the report does not wait for it.
   */
  async #look(): Promise<DiskReport> {
    const { cache, keptFolders, clock } = this.#options;
    this.#looking ??= Promise.all([keptFolders(), cache.report()])
      .then(([folders, report]) => (this.#seen = { keptFolders: folders, cache: report }))
      .finally(() => (this.#looking = undefined));
    try {
      return await withTimeout(this.#looking, patienceMs, "A look at the node's disk", clock);
    } catch (error) {
      if (!(error instanceof DeadlineExceeded) || this.#seen === undefined) throw error;
      return this.#seen;
    }
  }

  #conditionsNow(now: Date, keptFolders: number): Condition[] {
    const { objectStoreState, checks, cache, gameNode } = this.#options;
    const before =
      this.#conditions ??
      (gameNode()?.status?.conditions ?? []).filter(({ type }) =>
        gameNodeConditions.nodeAgent.some((own) => own === type),
      );
    const { isReachable, message } = objectStoreState();
    const withStore = setCondition(
      before,
      {
        type: "StoreReachable",
        status: isReachable ? "True" : "False",
        reason: isReachable ? storeReachableReasons.answers : storeReachableReasons.unreachable,
        message: message.slice(0, 1024),
      },
      now,
    );
    const withKept = setCondition(
      withStore,
      keptFolders === 0
        ? {
            type: "SessionsSetAside",
            status: "False",
            reason: sessionsSetAsideReasons.allRead,
            message: "All session files on the node are readable.",
          }
        : {
            type: "SessionsSetAside",
            status: "True",
            reason: sessionsSetAsideReasons.unreadable,
            message: `${keptFolders} session folders are set aside for an admin.`,
          },
      now,
    );
    const withChecks = checks().reduce<Condition[]>(
      (known, check) => setCondition<Condition>(known, check, now),
      withKept,
    );
    return setCondition(
      withChecks,
      cache.isShortOfSpace
        ? {
            type: "DiskPressure",
            status: "True",
            reason: diskPressureReasons.insufficientSpace,
            message: "A game does not fit on the node.",
          }
        : {
            type: "DiskPressure",
            status: "False",
            reason: diskPressureReasons.spaceLeft,
            message: "All games wanted on the node fit.",
          },
      now,
    );
  }
}

/** Options of the heartbeat. */
interface HeartbeatOptions {
  node: string;
  namespace: string;
  client: ResourceClient<Lease>;
  /** Whether this installation owns the node. If not, no heartbeat is sent. */
  isServed: () => boolean;
  /** Called when the Lease starts or stops carrying the agent's heartbeat. */
  onChange: () => void;
  clock: Clock;
  logger: Logger;
}

/**
 * Renews the Lease that the operator created for this node: a write of a few hundred bytes, independent of
 * the node's content. An operator of an earlier release creates no Lease, and its chart does not allow agents
 * to write one. Then the GameNode's status has to carry the heartbeat.
 */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  readonly #job: RepeatedJob;
  #isKept = false;

  constructor(options: HeartbeatOptions) {
    const { clock, logger } = options;
    this.#options = options;
    this.#job = new RepeatedJob({
      name: "heartbeat",
      periodMs: limits.node.heartbeatSeconds * 1000,
      clock,
      logger,
      work: (signal) => this.#renew(signal),
    });
  }

  /** Whether the Lease carries this agent's heartbeat. Stays true while the API server is unreachable. */
  get isKept(): boolean {
    return this.#isKept;
  }

  start(): void {
    this.#job.start();
  }

  stop(): Promise<void> {
    return this.#job.stop();
  }

  async #renew(signal: AbortSignal): Promise<void> {
    const { node, namespace, client, isServed, clock } = this.#options;
    if (!isServed()) return;
    const { heartbeatSeconds, heartbeatStaleSeconds: leaseDurationSeconds } = limits.node;
    const spec = { holderIdentity: node, leaseDurationSeconds, renewTime: toApiMicroTime(clock.now()) };
    try {
      await client.mergePatch(
        { namespace, name: node },
        { spec },
        { fieldManager: fieldManagers.nodeAgent, signal, deadlineMs: heartbeatSeconds * 1000 },
      );
      this.#set(true);
    } catch (error) {
      if (!isNotFound(error) && !isForbidden(error) && !isInvalid(error)) throw error;
      this.#set(false);
    }
  }

  #set(isKept: boolean): void {
    if (isKept === this.#isKept) return;
    this.#isKept = isKept;
    this.#options.logger.info(
      { isKept },
      isKept
        ? "The agent now renews this node's Lease as its heartbeat."
        : "This node has no Lease that its agent may renew. The heartbeat is written to the GameNode instead.",
    );
    this.#options.onChange();
  }
}

/** An agent's report of its node. */
export type NodeReport = {
  [Part in "conditions" | "cache" | "heartbeat"]: NonNullable<GameNodeStatus[Part]>;
};

/**
 * Free space changes with every save. It is reported again only after a change by this share of the cache's
 * size.
 */
const freeShare = 0.01;

/**
 * Returns whether the status matches the report, ignoring the time of the report and small changes of the
 * free space.
 */
export function isReported(
  status: GameNodeStatus | undefined,
  { conditions, cache, heartbeat }: NodeReport,
): boolean {
  const known = status?.cache;
  if (known === undefined || status?.heartbeat?.agentVersion !== heartbeat.agentVersion) return false;
  return (
    known.capacityBytes === cache.capacityBytes &&
    Math.abs(known.freeBytes - cache.freeBytes) <= cache.capacityBytes * freeShare &&
    gameNodeConditions.nodeAgent.every((type) =>
      isDeepStrictEqual(essenceOf(status.conditions, type), essenceOf(conditions, type)),
    ) &&
    isDeepStrictEqual(byDigest(known.entries), byDigest(cache.entries))
  );
}

function essenceOf(
  conditions: NodeReport["conditions"] | undefined,
  type: (typeof gameNodeConditions.nodeAgent)[number],
): unknown {
  const condition = findCondition(conditions, type);
  return condition && [condition.status, condition.reason, condition.message];
}

function byDigest(entries: NodeReport["cache"]["entries"]): unknown {
  return new Map(entries.map((entry) => [entry.digest, entry]));
}
