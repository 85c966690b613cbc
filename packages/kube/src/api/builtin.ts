import type {
  EventsV1Event,
  V1ConfigMap,
  V1CustomResourceDefinition,
  V1Lease,
  V1Namespace,
  V1Node,
  V1Pod,
  V1Secret,
} from "@kubernetes/client-node";
import type { KubeObject } from "./object.ts";
import type { ResourceType } from "./resourceType.ts";

/** A rule of a Role or ClusterRole. */
export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

/** Returns the part of a rule that selects the objects of a type, or their subresource. */
export function resourcesOf(
  { group, plural }: { group: string; plural: string },
  subresource?: string,
): Pick<PolicyRule, "apiGroups" | "resources"> {
  return { apiGroups: [group], resources: [subresource === undefined ? plural : `${plural}/${subresource}`] };
}

/** A client-node type with times as strings, as in JSON. */
export type Wire<T> = T extends Date
  ? string
  : T extends readonly (infer E)[]
    ? Wire<E>[]
    : T extends object
      ? { [K in keyof T]: Wire<T[K]> }
      : T;

/** A client-node type as a KubeObject. */
export type BuiltIn<T> = KubeObject & Omit<Wire<T>, "apiVersion" | "kind" | "metadata">;

export type Pod = BuiltIn<V1Pod>;
export type Node = BuiltIn<V1Node>;
export type Namespace = BuiltIn<V1Namespace>;
export type ConfigMap = BuiltIn<V1ConfigMap>;
export type Secret = BuiltIn<V1Secret>;
export type Lease = BuiltIn<V1Lease>;
export type Event = BuiltIn<EventsV1Event>;
export type CustomResourceDefinition = BuiltIn<V1CustomResourceDefinition>;

export const pods: ResourceType<Pod> = core("pods", "Pod", true);
export const nodes: ResourceType<Node> = core("nodes", "Node", false);
export const namespaces: ResourceType<Namespace> = core("namespaces", "Namespace", false);
export const configMaps: ResourceType<ConfigMap> = core("configmaps", "ConfigMap", true);
export const secrets: ResourceType<Secret> = core("secrets", "Secret", true);

/** Leader election and heartbeats. */
export const leases: ResourceType<Lease> = {
  group: "coordination.k8s.io",
  version: "v1",
  plural: "leases",
  kind: "Lease",
  namespaced: true,
};

/** Events of the events.k8s.io group, which EventRecorder writes. */
export const events: ResourceType<Event> = {
  group: "events.k8s.io",
  version: "v1",
  plural: "events",
  kind: "Event",
  namespaced: true,
};

export const customResourceDefinitions: ResourceType<CustomResourceDefinition> = {
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
  namespaced: false,
};

function core<T extends KubeObject>(plural: string, kind: string, namespaced: boolean): ResourceType<T> {
  return { group: "", version: "v1", plural, kind, namespaced };
}

/** Returns whether the pod has ended: none of its containers will run again. */
export function isTerminal({ status }: Pod): boolean {
  return status?.phase === "Succeeded" || status?.phase === "Failed";
}
