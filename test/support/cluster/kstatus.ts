import type { Condition } from "#kube/api/conditions.ts";

/** How far an object is, by kstatus. */
export type KstatusResult = "Terminating" | "InProgress" | "Failed" | "Current";

interface ObjectWithStatus {
  metadata: { generation?: number | undefined; deletionTimestamp?: string | undefined };
  status?: { observedGeneration?: number | undefined; conditions?: Condition[] | undefined } | undefined;
}

/**
 * Returns what tools that wait for objects, as Flux and `kubectl apply` of kpt do, make of one of a custom
 * kind. The rule is that of sigs.k8s.io/cli-utils v0.37, pkg/kstatus/status: checkGenericProperties in
 * generic.go, then checkReadyCondition in core.go, as Compute in status.go asks them; kinds of their own rule
 * are Kubernetes' alone.
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
