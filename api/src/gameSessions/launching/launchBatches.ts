import { toError } from "#runtime/errors.ts";
import { DomainError } from "../../errors.ts";
import type { Queryable } from "../../stores/queryable.ts";
import { Batcher } from "./batcher.ts";
import {
  decideLaunch,
  sessionActive,
  slotInUse,
  type AskedLaunch,
  type DecideLaunchDeps,
} from "./decideLaunch.ts";
import {
  findLaunchContexts,
  hasActiveGameSession,
  insertGameSessions,
  updateQueuedPassed,
  type LaunchContext,
  type NewGameSession,
} from "./launchQueries.ts";
import { launchPatienceMs, tooManyLaunches, waitingLaunchesMax } from "./launchQueue.ts";
import { requirePlayTime } from "../playLimits/playAllowance.ts";
import { isDatabaseUnavailable } from "../../stores/databaseFailure.ts";
import { lockLaunches } from "../../saves/playerSlotQueries.ts";
import type { Deps } from "../../deps.ts";

type LaunchBatchesDeps = DecideLaunchDeps & Pick<Deps, "clock" | "postgres">;

/** A launch that would be accepted now. */
type CheckedLaunch = Pick<AskedLaunch, "playSeconds">;

/** A launch to store as a session. */
export interface LaunchToStore extends AskedLaunch {
  /** Runs in the transaction that stores the session. */
  inTransaction?:
    | ((session: NewGameSession, transaction: Queryable) => Promise<void> | undefined)
    | undefined;
}

/** How many launches are decided while the launch lock is held. */
const launchesPerBatch = 50;

/** One launch of a batch cannot be stored, so the batch has to be stored one by one. */
class BatchConflict extends Error {}

/**
 * Decides launches from the database and stores the accepted ones, in batches. All processes share one launch
 * lock. Launches decided one at a time would each hold it for four round trips, and with thousands of
 * launches at once the last ones would time out.
 */
export class LaunchBatches {
  readonly #checks: Batcher<AskedLaunch, CheckedLaunch>;
  readonly #stores: Batcher<LaunchToStore, NewGameSession>;

  constructor(deps: LaunchBatchesDeps) {
    const common = {
      clock: deps.clock,
      itemsMax: launchesPerBatch,
      waitingMax: waitingLaunchesMax,
      patienceMs: launchPatienceMs,
      tooMany: tooManyLaunches,
      // If the database hangs, waiting launches fail at once instead of timing out again.
      isLasting: isDatabaseUnavailable,
    };
    this.#checks = new Batcher({
      ...common,
      work: (asked: readonly AskedLaunch[]) => checkLaunches(deps, asked),
    });
    this.#stores = new Batcher({
      ...common,
      work: (asked: readonly LaunchToStore[]) => storeLaunches(deps, asked),
    });
  }

  /**
   * Checks the launch without taking the launch lock, which catches most refused launches, and returns for
   * how long its player may play.
   *
   * @throws DomainError when the launch would be refused now.
   */
  check(asked: AskedLaunch): Promise<CheckedLaunch> {
    return this.#checks.process(asked);
  }

  /**
   * Stores the launch's session and returns it.
   *
   * @throws DomainError when the launch is refused, and `unavailable` when too many games are starting.
   */
  store(asked: LaunchToStore): Promise<NewGameSession> {
    return this.#stores.process(asked);
  }
}

type Decision = NewGameSession | Error;

async function checkLaunches(
  deps: LaunchBatchesDeps,
  asked: readonly AskedLaunch[],
): Promise<(CheckedLaunch | Error)[]> {
  const contexts = await findLaunchContexts(deps.postgres.pool, asked);
  return Promise.all(asked.map((each, index) => checkLaunch(deps, each, contexts[index]).catch(toError)));
}

async function checkLaunch(
  deps: LaunchBatchesDeps,
  asked: AskedLaunch,
  context: LaunchContext | undefined,
): Promise<CheckedLaunch> {
  const playSeconds = context && (await requirePlayTime(deps, asked.userId, context.groupPlayLimits));
  await decideLaunch(deps, { ...asked, playSeconds }, context, deps.postgres.pool);
  return { playSeconds };
}

async function storeLaunches(deps: LaunchBatchesDeps, asked: readonly LaunchToStore[]): Promise<Decision[]> {
  try {
    return await deps.postgres.transaction(
      (transaction) => storeWithin(deps, transaction, asked),
      lockLaunches,
    );
  } catch (error) {
    if (asked.length === 1 || isDatabaseUnavailable(error)) throw error;
    // One launch's error must not fail the others in its batch.
    const decisions: Decision[] = [];
    for (const each of asked)
      decisions.push(...(await storeLaunches(deps, [each]).catch((cause: unknown) => [toError(cause)])));
    return decisions;
  }
}

async function storeWithin(
  deps: LaunchBatchesDeps,
  transaction: Queryable,
  asked: readonly LaunchToStore[],
): Promise<Decision[]> {
  const contexts = await findContextsToStore(transaction, asked);
  const decisions: Decision[] = [];
  const sessions: NewGameSession[] = [];
  for (const [index, each] of asked.entries()) {
    const context = contexts[index];
    const decision = await decideLaunch(
      deps,
      each,
      context && withSessions(context, sessions),
      transaction,
    ).catch(domainError);
    decisions.push(decision);
    if (!(decision instanceof Error)) sessions.push(decision);
  }
  for (const isQueued of [false, true])
    if (
      !(await insertGameSessions(
        transaction,
        sessions.filter((each) => each.isQueued === isQueued),
        isQueued,
      ))
    )
      throw await insertError(transaction, asked);
  await updateQueuedPassed(
    transaction,
    sessions.flatMap(({ passed }) => passed),
  );
  for (const [index, decision] of decisions.entries()) {
    if (!(decision instanceof Error)) await asked[index]?.inTransaction?.(decision, transaction);
  }
  return decisions;
}

/**
 * Reads the contexts and repeats the read once if a game is missing: a read that waited for the lock of a
 * game whose version changed still uses the former version, and finds nothing.
 */
async function findContextsToStore(
  transaction: Queryable,
  asked: readonly AskedLaunch[],
): Promise<(LaunchContext | undefined)[]> {
  const contexts = await findLaunchContexts(transaction, asked, { isToStore: true });
  return contexts.includes(undefined)
    ? findLaunchContexts(transaction, asked, { isToStore: true })
    : contexts;
}

/** Adds the sessions that this transaction stores, which the context does not include. */
function withSessions(context: LaunchContext, sessions: readonly NewGameSession[]): LaunchContext {
  const added = sessions.map(({ id, spec: { resources, saveVolumeBytes }, isQueued }) => ({
    id,
    resources,
    saveVolumeBytes,
    isQueued,
    hasSeat: false,
    passedSeconds: null,
  }));
  const seated = added.filter(({ isQueued }) => !isQueued);
  return {
    ...context,
    activeSessions: context.activeSessions + seated.length,
    unseenSessions: [...seated, ...context.unseenSessions],
    queue: [...context.queue, ...added.filter(({ isQueued }) => isQueued)],
  };
}

/** Returns why not all sessions could be stored although their launches were accepted. */
async function insertError(
  transaction: Queryable,
  [first, ...others]: readonly LaunchToStore[],
): Promise<Error> {
  if (first === undefined || others.length > 0) return new BatchConflict();
  return (await hasActiveGameSession(transaction, first.userId)) ? sessionActive() : slotInUse();
}

/**
 * Returns a DomainError. Rethrows other errors, because they have failed the transaction for the whole batch.
 */
function domainError(error: unknown): DomainError {
  if (error instanceof DomainError) return error;
  throw error;
}
