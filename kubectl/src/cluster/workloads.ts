import type { KubeObject } from "#kube/api/object.ts";
import type { ResourceType } from "#kube/api/resourceType.ts";

/** The fields that are read of a Deployment, StatefulSet or DaemonSet. */
export interface Workload extends KubeObject {
  spec: {
    replicas?: number;
    template: {
      spec: {
        containers: readonly {
          name: string;
          image?: string;
          env?: readonly { name: string; value?: string }[];
        }[];
      };
    };
  };
  status?: { readyReplicas?: number; numberReady?: number; desiredNumberScheduled?: number };
}

export const deployments: ResourceType<Workload> = apps("deployments", "Deployment");
export const statefulSets: ResourceType<Workload> = apps("statefulsets", "StatefulSet");
export const daemonSets: ResourceType<Workload> = apps("daemonsets", "DaemonSet");

/** The components of an installation, by the label that the chart sets. */
export const componentLabel = "app.kubernetes.io/component";
export const instanceLabel = "app.kubernetes.io/instance";

/**
 * Returns the value of an environment variable in the manifest of the workload's container; undefined if it
 * is not set or comes from another source.
 */
export function variableOf({ spec }: Workload, container: string, variable: string): string | undefined {
  return spec.template.spec.containers
    .find(({ name }) => name === container)
    ?.env?.find(({ name }) => name === variable)?.value;
}

function apps(plural: string, kind: string): ResourceType<Workload> {
  return { group: "apps", version: "v1", plural, kind, namespaced: true };
}

/** Returns the numbers of ready and desired pods of a Deployment, StatefulSet or DaemonSet. */
export function readyOf({ kind, spec, status }: Workload): { ready: number; wanted: number } {
  return kind === "DaemonSet"
    ? { ready: status?.numberReady ?? 0, wanted: status?.desiredNumberScheduled ?? 0 }
    : { ready: status?.readyReplicas ?? 0, wanted: spec.replicas ?? 1 };
}
