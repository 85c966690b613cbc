import type { Condition } from "#kube/api/conditions.ts";

/** Status of an object according to kstatus. */
export type KstatusResult = "Terminating" | "InProgress" | "Failed" | "Current";

interface ObjectWithStatus {
  metadata: { generation?: number | undefined; deletionTimestamp?: string | undefined };
  status?: { observedGeneration?: number | undefined; conditions?: Condition[] | undefined } | undefined;
}

/**
 * Returns the status that tools such as Flux and kpt compute for a custom resource. Follows
 * sigs.k8s.io/cli-utils v0.37, pkg/kstatus/status: checkGenericProperties in generic.go, then
 * checkReadyCondition in core.go, in the order of Compute in status.go. Only built-in kinds have specific
 * rules there.
 */
export function kstatusOf({ metadata, status }: ObjectWithStatus): KstatusResult {
  if (metadata.deletionTimestamp !== undefined) return "Terminating";
  if (status?.observedGeneration !== undefined && status.observedGeneration !== (metadata.generation ?? 0))
    return "InProgress";
  for (const { type, status: value } of status?.conditions ?? []) {
    if (type === "Reconciling" && value === "True") return "InProgress";
    if (type === "Stalled" && value === "True") return "Failed";
  }
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  return ready === undefined || ready.status === "True" ? "Current" : "InProgress";
}
