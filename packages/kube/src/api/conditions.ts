import { toApiTime } from "./object.ts";

/** A condition as defined by the Kubernetes API conventions. */
export interface Condition {
  type: string;
  status: "True" | "False" | "Unknown";
  /** Machine-readable reason in CamelCase. */
  reason: string;
  /** Human-readable message; may be empty. */
  message: string;
  observedGeneration?: number | undefined;
  lastTransitionTime: string;
}

/** A condition without its time, which setCondition sets. */
export type ConditionUpdate<C extends Condition = Condition> = Omit<C, "lastTransitionTime">;

/** Returns the condition of the type; undefined without one. */
export function findCondition<C extends Condition>(
  conditions: readonly C[] | undefined,
  type: C["type"],
): C | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** Returns whether the condition of the type is True. */
export function isConditionTrue<C extends Condition>(
  conditions: readonly C[] | undefined,
  type: C["type"],
): boolean {
  return findCondition(conditions, type)?.status === "True";
}

/**
 * Returns the list with the condition of the type replaced or added; the given list is unchanged.
 * lastTransitionTime becomes `now` (in whole seconds) only if the status changes.
 */
export function setCondition<C extends Condition>(
  conditions: readonly C[] | undefined,
  update: ConditionUpdate<C>,
  now: Date,
): C[] {
  const existing = conditions ?? [];
  const at = existing.findIndex((condition) => condition.type === update.type);
  const previous = existing[at];
  const lastTransitionTime =
    previous?.status === update.status ? previous.lastTransitionTime : toApiTime(now);
  // The compiler cannot see that Omit<C, K> & Pick<C, K> is C again.
  const next = { ...update, lastTransitionTime } as unknown as C;
  return previous === undefined ? [...existing, next] : existing.with(at, next);
}
