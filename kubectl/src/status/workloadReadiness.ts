import type { Workload } from "../cluster/workloads.ts";

/** Returns how many pods of a Deployment, StatefulSet or DaemonSet are ready, and how many there shall be. */
export function readyOf({ kind, spec, status }: Workload): { ready: number; wanted: number } {
  return kind === "DaemonSet"
    ? { ready: status?.numberReady ?? 0, wanted: status?.desiredNumberScheduled ?? 0 }
    : { ready: status?.readyReplicas ?? 0, wanted: spec.replicas ?? 1 };
}
