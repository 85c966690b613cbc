import type { Clock } from "#runtime/scheduling/clock.ts";
import { toError } from "#runtime/errors.ts";
import { DomainError } from "../../errors.ts";
import type { Postgres } from "../../stores/postgres.ts";
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
  type LaunchContext,
  type NewGameSession,
} from "./launchQueries.ts";
import { launchPatienceMs, tooManyLaunches, waitingLaunchesMax } from "./launchQueue.ts";
import { isDatabaseUnavailable } from "../../stores/databaseFailure.ts";
import { lockLaunches } from "../../saves/playerSlotQueries.ts";

/** What checking and storing launches needs. */
export interface LaunchStoreDeps extends DecideLaunchDeps {
  clock: Clock;
  postgres: Postgres;
}

/** A launch that is to become a session. */
export interface LaunchToStore extends AskedLaunch {
  /** Runs in the transaction that stores the session. */
  alsoWithin?: ((id: string, transaction: Queryable) => Promise<void> | undefined) | undefined;
}

/** How many launches are decided while the lock of all launches is held. */
const launchesPerBatch = 50;

/** Thrown when several launches cannot be stored in one transaction, because of one of them. */
class NotTogether extends Error {}

/**
 * Decides launches by the database and stores those that lead to a session: all that came meanwhile together.
 * All processes share one lock. Launches decided one at a time would each hold it for four round trips, and
 * when very many players launch at once the last would wait for longer than they have patience.
 */
export class LaunchStore {
  readonly #checks: Batcher<AskedLaunch, NewGameSession>;
  readonly #stores: Batcher<LaunchToStore, NewGameSession>;

  constructor(deps: LaunchStoreDeps) {
    const common = {
      clock: deps.clock,
      itemsMax: launchesPerBatch,
      waitingMax: waitingLaunchesMax,
      patienceMs: launchPatienceMs,
      tooMany: tooManyLaunches,
      // Nobody waits for a database that hangs once more than it takes to find that out.
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
   * Throws why the launch would not be stored just now. It takes no lock: most launches that are refused are
   * found out here.
   */
  async check(asked: AskedLaunch): Promise<void> {
    await this.#checks.do(asked);
  }

  /**
   * Stores the session that the launch leads to, and returns it. Throws why there is none, and unavailable
   * when very many launch at once.
   */
  store(asked: LaunchToStore): Promise<NewGameSession> {
    return this.#stores.do(asked);
  }
}

type Decision = NewGameSession | Error;

async function checkLaunches(deps: LaunchStoreDeps, asked: readonly AskedLaunch[]): Promise<Decision[]> {
  const { pool } = deps.postgres;
  const contexts = await findLaunchContexts(pool, asked);
  return Promise.all(
    asked.map((each, index) => decideLaunch(deps, each, contexts[index], pool).catch(toError)),
  );
}

async function storeLaunches(deps: LaunchStoreDeps, asked: readonly LaunchToStore[]): Promise<Decision[]> {
  try {
    return await deps.postgres.transaction(
      (transaction) => storeWithin(deps, transaction, asked),
      lockLaunches,
    );
  } catch (error) {
    if (asked.length === 1 || isDatabaseUnavailable(error)) throw error;
    // An error of one launch in the batch does not concern the others.
    const decisions: Decision[] = [];
    for (const each of asked)
      decisions.push(...(await storeLaunches(deps, [each]).catch((own: unknown) => [toError(own)])));
    return decisions;
  }
}

async function storeWithin(
  deps: LaunchStoreDeps,
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
  if (sessions.length > 0 && !(await insertGameSessions(transaction, sessions)))
    throw await insertError(transaction, asked);
  for (const [index, decision] of decisions.entries()) {
    if (!(decision instanceof Error)) await asked[index]?.alsoWithin?.(decision.id, transaction);
  }
  return decisions;
}

/**
 * A game whose lock was waited for, because it got another version, is missing in that look: it still saw the
 * version before.
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

/** The sessions that the same transaction stores take their places, too. */
function withSessions(context: LaunchContext, sessions: readonly NewGameSession[]): LaunchContext {
  const unseen = sessions.map(({ id, spec: { resources, saveVolumeBytes } }) => ({
    id,
    resources,
    saveVolumeBytes,
  }));
  return {
    ...context,
    activeSessions: context.activeSessions + sessions.length,
    unseenSessions: [...unseen, ...context.unseenSessions],
  };
}

/** Why not all sessions could be stored, although nothing spoke against it a moment before. */
async function insertError(
  transaction: Queryable,
  [first, ...others]: readonly LaunchToStore[],
): Promise<Error> {
  if (first === undefined || others.length > 0) return new NotTogether();
  return (await hasActiveGameSession(transaction, first.userId)) ? sessionActive() : slotInUse();
}

/** An error of the database leaves the transaction failed, for all of them. */
function domainError(error: unknown): DomainError {
  if (error instanceof DomainError) return error;
  throw error;
}
