import type { PodResources } from "#contracts/crd/capacity.ts";
import { type Pod, pods } from "#kube/api/builtin.ts";
import type { KubeObject } from "#kube/api/object.ts";
import type { ResourceType } from "#kube/api/resourceType.ts";
import { podRequests } from "./podRequests.ts";

type PodSpec = NonNullable<Pod["spec"]>;
type Container = PodSpec["containers"][number];

const keptOfSpec = ["nodeName", "affinity", "overhead", "resources"] as const satisfies (keyof PodSpec)[];
const keptOfContainers = ["ports", "resources", "restartPolicy"] as const satisfies (keyof Container)[];

/**
 * Pods of sessions, reduced to what decisions need: identity, node, resources and status. The rest of the
 * spec, most of a pod, is dropped on reading to save memory: there is one pod for each session.
 */
// The API server's response is trusted, as for pods that are kept whole.
export const sessionPods: ResourceType<Pod> = { ...pods, parse: (value) => stripPod(value as Pod) };

function stripPod({ spec, ...rest }: Pod): Pod {
  if (spec === undefined) return rest;
  const { initContainers, containers } = spec;
  return {
    ...rest,
    spec: {
      ...pick(spec, keptOfSpec),
      ...(initContainers === undefined ? {} : { initContainers: initContainers.map(stripContainer) }),
      containers: containers.map(stripContainer),
    },
  };
}

function stripContainer(container: Container): Container {
  return { name: container.name, ...pick(container, keptOfContainers) };
}

/** Returns the given fields that the object has. */
function pick<T extends object, K extends keyof T>(object: T, keys: readonly K[]): Pick<T, K> {
  return Object.fromEntries(
    keys.flatMap((key) => (object[key] === undefined ? [] : [[key, object[key]]])),
  ) as Pick<T, K>;
}

/** The part of a pod outside the sessions namespace that the operator keeps. */
export interface OtherPod extends KubeObject {
  nodeName: string | undefined;
  requests: PodResources;
  /** The UDP host ports of the pod. */
  udpPorts: readonly number[];
}

/** Pods of other namespaces. Everything but their resources is dropped on reading. */
// The API server's response is trusted, as for pods that are kept whole.
export const otherPods: ResourceType<OtherPod> = { ...pods, parse: (value) => toOtherPod(value as Pod) };

/** Selects the pods outside a namespace that occupy resources of a node. */
export function otherPodsSelector(sessionsNamespace: string): string {
  return `metadata.namespace!=${sessionsNamespace},spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed`;
}

function udpPortsOf(spec: Pod["spec"]): number[] {
  const containers = [
    ...(spec?.initContainers?.filter(({ restartPolicy }) => restartPolicy === "Always") ?? []),
    ...(spec?.containers ?? []),
  ];
  return containers.flatMap(({ ports = [] }) =>
    ports.flatMap(({ hostPort, protocol }) =>
      hostPort === undefined || protocol !== "UDP" ? [] : [hostPort],
    ),
  );
}

function toOtherPod({ apiVersion, kind, metadata, spec }: Pod): OtherPod {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  return {
    apiVersion,
    kind,
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    nodeName: spec?.nodeName,
    requests: podRequests({ spec }),
    udpPorts: udpPortsOf(spec),
  };
}
