import { toApiTime } from "./object.ts";

/** One observation about an object, as the Kubernetes API conventions shape it. */
export interface Condition {
  type: string;
  status: "True" | "False" | "Unknown";
  /** CamelCase, for programs. */
  reason: string;
  /** For people; may be empty. */
  message: string;
  observedGeneration?: number | undefined;
  lastTransitionTime: string;
}

/** A condition without its time, which only setCondition decides. */
export type ConditionUpdate<C extends Condition = Condition> = Omit<C, "lastTransitionTime">;

/** The condition of that type, if it has been observed. */
export function findCondition<C extends Condition>(
  conditions: readonly C[] | undefined,
  type: C["type"],
): C | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** Whether the condition of that type is True. */
export function isConditionTrue<C extends Condition>(
  conditions: readonly C[] | undefined,
  type: C["type"],
): boolean {
  return findCondition(conditions, type)?.status === "True";
}

/**
 * Returns the list with `update` in place of the condition of its type, or at the end; the given list is left
 * alone. lastTransitionTime is `now` (whole seconds, as the API keeps it) when the status differs from the
 * former one, and otherwise stays.
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
