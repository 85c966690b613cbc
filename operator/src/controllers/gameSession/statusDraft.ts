import { isDeepStrictEqual } from "node:util";
import type { Condition } from "#contracts/crd/kind.ts";
import {
  type GameSessionEventReason,
  type OperatorReasons,
  gameSessionConditions,
  type GameSession,
  type GameSessionPhase,
  type GameSessionStatus,
  type NodeAgentConditionType,
  type OperatorConditionType,
} from "#contracts/crd/gameSession.ts";
import { unsetReasons } from "#contracts/crd/gameSessionReasons.ts";
import { isFinished } from "#contracts/crd/sessionState.ts";
import { findCondition, isConditionTrue, setCondition } from "#kube/api/conditions.ts";
import type { EventNote } from "#kube/controllers/eventRecorder.ts";
import type { Stored } from "#kube/api/object.ts";
import type { OperatorMetrics } from "../../metrics.ts";

/** The part of the status that the operator writes. The node agent writes the rest. */
export type OperatorStatus = Omit<GameSessionStatus, "save">;

/** Counts a result of the pass in the operator's metrics. */
export type Count = (metrics: OperatorMetrics) => void;

/** Collects the status of a pass, which is written once, with its events and counts. */
export class StatusDraft {
  /** Modified by the steps. */
  readonly status: OperatorStatus;
  readonly events: EventNote[] = [];
  readonly counts: Count[] = [];
  /** Set if the pass must be retried as failed after its status is written. */
  failure: Error | undefined;
  readonly #session: Stored<GameSession>;
  readonly #now: Date;

  private constructor(session: Stored<GameSession>, now: Date) {
    this.#session = session;
    this.#now = now;
    this.status = ownPart(session.status);
  }

  /** Returns a draft of what the operator wrote before. Conditions that were never set become Unknown. */
  static from(session: Stored<GameSession>, now: Date): StatusDraft {
    const draft = new StatusDraft(session, now);
    // A finished session gets no further conditions.
    if (isFinished(session)) return draft;
    draft.status.startedAt ??= now.toISOString();
    for (const type of gameSessionConditions.operator) {
      // Accelerated has no meaning for a session without a GPU, so only the streamer's report sets it.
      if (type !== "Accelerated" && !findCondition(draft.status.conditions, type))
        draft.#set({
          type,
          status: "Unknown",
          reason: unsetReasons.pending,
          message: "The session has not reached this step yet.",
        });
    }
    for (const type of gameSessionConditions.nodeAgent) {
      if (!findCondition(session.status?.conditions, type))
        draft.#standIn(type, "The node agent has not reported yet.");
    }
    return draft;
  }

  /** Sets one of the operator's conditions. Returns whether that changes it. */
  set<T extends Exclude<OperatorConditionType, "Finished">>(
    type: T,
    status: Condition["status"],
    reason: OperatorReasons[T],
    message: string,
  ): boolean {
    return this.#set({ type, status, reason, message });
  }

  /**
   * Sets Finished and removes Ready. By Kubernetes convention a finished object is complete rather than
   * unready, and tools that wait for all objects to be current treat a Ready of False as work in progress.
   * The reason is the one recorded in the status, which an operator of another release may have written.
   */
  setFinished(reason: string, message: string): void {
    this.#set({ type: "Finished", status: "True", reason, message });
    this.status.conditions = this.status.conditions?.filter(({ type }) => type !== "Ready");
  }

  /** Resets the node agent's conditions to Unknown, because the agent of another node has to set them. */
  resetAgentConditions(): void {
    for (const type of gameSessionConditions.nodeAgent)
      this.#standIn(type, "The session has moved to another node.");
  }

  /** Adds an event that is recorded after the status is written. */
  event(type: EventNote["type"], reason: GameSessionEventReason, action: string, note: string): void {
    this.events.push({ type, reason, action, note });
  }

  /**
   * Adds a count that is applied after the status is written. A pass whose write is refused runs again and
   * would otherwise count twice.
   */
  count(count: Count): void {
    this.counts.push(count);
  }

  /**
   * Returns the whole status to apply, or undefined if no change is worth a write. A changed phase alone is
   * not. A changed generation is worth one for a running or finished session, which would otherwise look as
   * if the operator still worked on it. For a starting or stopping session the write of the next step records
   * the generation.
   */
  close(): OperatorStatus | undefined {
    const isSame = isDeepStrictEqual(essence(this.status), essence(ownPart(this.#session.status)));
    if (
      isSame &&
      (this.#generation === this.status.observedGeneration || !isSettled(this.status, this.#session))
    )
      return undefined;
    const conditions = this.status.conditions?.map((condition) => ({
      ...condition,
      observedGeneration: this.#generation,
    }));
    return {
      ...this.status,
      ...(conditions && { conditions }),
      phase: phaseOf(this.status, this.#session),
      observedGeneration: this.#generation,
    };
  }

  /**
   * Returns whether the live status already contains the intended one and the draft changed something. Then
   * an earlier attempt of the write succeeded although its response was lost, and its events and counts are
   * still due.
   */
  isWritten(intended: OperatorStatus, live: GameSessionStatus | undefined): boolean {
    const [before, now, wanted] = [ownPart(this.#session.status), ownPart(live), intended].map((status) =>
      essence(withoutPlaceholders(status)),
    );
    return (
      live?.observedGeneration === intended.observedGeneration &&
      isDeepStrictEqual(now, wanted) &&
      !isDeepStrictEqual(before, wanted)
    );
  }

  get #generation(): number {
    return this.#session.metadata.generation ?? 0;
  }

  #standIn(type: NodeAgentConditionType, message: string): void {
    this.#set({ type, status: "Unknown", reason: unsetReasons.nodeAgentSilent, message });
  }

  #set(update: Omit<Condition, "lastTransitionTime">): boolean {
    const previous = findCondition(this.status.conditions, update.type);
    const message = update.message.slice(0, 1024);
    if (
      previous?.status === update.status &&
      previous.reason === update.reason &&
      previous.message === message
    )
      return false;
    this.status.conditions = setCondition<Condition>(
      this.status.conditions,
      { ...update, message, observedGeneration: this.#generation },
      this.#now,
    );
    return true;
  }
}

/** Returns the summary for display. No decision uses it. */
function phaseOf(status: OperatorStatus, session: GameSession): GameSessionPhase {
  if (isConditionTrue(status.conditions, "Finished")) return "Finished";
  if (isStopping(status, session)) return "Stopping";
  if (isConditionTrue(status.conditions, "Ready")) return "Running";
  if (status.nodeName === undefined) return "Pending";
  return isConditionTrue(session.status?.conditions, "ContentReady") ? "Starting" : "Preparing";
}

/** Returns whether no work is left until the session's spec changes. */
function isSettled(status: OperatorStatus, session: GameSession): boolean {
  return (
    isConditionTrue(status.conditions, "Finished") ||
    (isConditionTrue(status.conditions, "Ready") && !isStopping(status, session))
  );
}

function isStopping(status: OperatorStatus, session: GameSession): boolean {
  return (
    status.stoppingAt !== undefined ||
    session.spec.desiredState === "Stopped" ||
    session.metadata.deletionTimestamp !== undefined
  );
}

function ownPart(status: GameSessionStatus | undefined): OperatorStatus {
  const own = structuredClone(status ?? {});
  delete own.save;
  const owned = (own.conditions ?? []).filter(
    ({ type, reason }) => isOperatorCondition(type) || reason === unsetReasons.nodeAgentSilent,
  );
  if (owned.length === 0) delete own.conditions;
  else own.conditions = owned;
  return own;
}

/** Omits the placeholders, because the agent may have replaced them with its own conditions. */
function withoutPlaceholders({ conditions, ...status }: OperatorStatus): OperatorStatus {
  return {
    ...status,
    ...(conditions && { conditions: conditions.filter(({ type }) => isOperatorCondition(type)) }),
  };
}

function isOperatorCondition(type: string): boolean {
  return gameSessionConditions.operator.some((own) => own === type);
}

/** Returns the fields relevant to a comparison, in a fixed order. */
function essence(status: OperatorStatus): OperatorStatus {
  const counting = structuredClone(status);
  delete counting.phase;
  delete counting.observedGeneration;
  for (const condition of counting.conditions ?? []) delete condition.observedGeneration;
  counting.conditions?.sort((a, b) => (a.type < b.type ? -1 : 1));
  return counting;
}
