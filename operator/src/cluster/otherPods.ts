import type { PodResources } from "#contracts/crd/nodeShare.ts";
import { pods, type Pod } from "#kube/api/builtin.ts";
import type { KubeObject } from "#kube/api/object.ts";
import type { ResourceType } from "#kube/api/resourceType.ts";
import { podRequests } from "./podRequests.ts";

/** A pod that is no session's: all that the operator keeps of it. */
export interface OtherPod extends KubeObject {
  nodeName: string | undefined;
  requests: PodResources;
  /** The node's UDP ports that the pod takes. */
  udpPorts: readonly number[];
}

/** Pods of other namespaces. What they run and what they are told is dropped as soon as it is read. */
// The server is believed, as for pods that are kept whole.
export const otherPods: ResourceType<OtherPod> = { ...pods, parse: (value) => outlineOf(value as Pod) };

/** Selects the pods that take something of a node, beside those of a namespace. */
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

function outlineOf({ apiVersion, kind, metadata, spec }: Pod): OtherPod {
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
