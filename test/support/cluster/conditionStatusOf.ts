import type { Condition } from "#contracts/crd/kind.ts";

/** Returns the status of an object's condition, or undefined if it was never set. */
export function conditionStatusOf(
  object: { status?: { conditions?: readonly Condition[] | undefined } | undefined },
  type: string,
): string | undefined {
  return object.status?.conditions?.find((condition) => condition.type === type)?.status;
}
