import type { Pod } from "./builtin.ts";

/** Returns whether the pod has ended for good: no container of it runs again. */
export function isTerminal({ status }: Pod): boolean {
  return status?.phase === "Succeeded" || status?.phase === "Failed";
}
