import type { Pod } from "#kube/api/builtin.ts";

/**
 * Returns the affinity that pins a pod to a node. By affinity and not by spec.nodeName, so that the scheduler
 * still counts GPUs, ports and memory.
 */
export function pinTo(nodeName: string): NonNullable<NonNullable<Pod["spec"]>["affinity"]> {
  const matchFields = [{ key: "metadata.name", operator: "In", values: [nodeName] }];
  return {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields }] },
    },
  };
}
