import type { GameSession } from "#contracts/crd/gameSession.ts";
import { labels } from "#contracts/crd/names.ts";
import { sessionUserId } from "#contracts/nodeLayout.ts";
import type { Pod } from "#kube/api/builtin.ts";
import { deviceGroupsOf, type GpuConfig } from "../gpu/gpuConfig.ts";

/** Returns the security context of a session's pod. */
export function podSecurityOf(
  gpu: GpuConfig | undefined,
): NonNullable<NonNullable<Pod["spec"]>["securityContext"]> {
  return {
    runAsNonRoot: true,
    runAsUser: sessionUserId,
    runAsGroup: sessionUserId,
    fsGroup: sessionUserId,
    ...deviceGroupsOf(gpu),
    seccompProfile: { type: "RuntimeDefault" },
  };
}

/** Security context of each container of a session's pod. */
export const containerSecurity = {
  readOnlyRootFilesystem: true,
  allowPrivilegeEscalation: false,
  capabilities: { drop: ["ALL"] },
};

/** Returns a memory volume, whose size the kernel limits and which is never written to disk. */
export function inMemory(name: string, sizeLimit: string) {
  return { name, emptyDir: { medium: "Memory", sizeLimit } };
}

/**
 * Returns the affinity that pins a pod to a node. Unlike spec.nodeName, an affinity lets the scheduler
 * account for GPUs, ports and memory.
 */
export function pinTo(nodeName: string): NonNullable<NonNullable<Pod["spec"]>["affinity"]> {
  const matchFields = [{ key: "metadata.name", operator: "In", values: [nodeName] }];
  return {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields }] },
    },
  };
}

/** Returns the part of a pod's spec with its image pull secrets. Empty without secrets. */
export function pullSecretsOf({
  imagePullSecrets,
}: {
  imagePullSecrets: readonly string[];
}): Pick<NonNullable<Pod["spec"]>, "imagePullSecrets"> {
  return imagePullSecrets.length === 0
    ? {}
    : { imagePullSecrets: imagePullSecrets.map((name) => ({ name })) };
}

/**
 * Returns the labels by which NetworkPolicies select session pods. They say whether a pod may open
 * connections, and do not identify the session.
 */
export function sessionPodLabels(network: GameSession["spec"]["network"]): Record<string, string> {
  return {
    ...componentLabels("game-session"),
    ...(network === "Internet" ? { [labels.network]: "internet" } : {}),
  };
}

/** Returns the conventional labels of a pod in the sessions namespace. */
export function componentLabels(
  component: "game-session" | "network-probe" | "node-test",
): Record<string, string> {
  return {
    "app.kubernetes.io/name": "joypod",
    "app.kubernetes.io/component": component,
    "app.kubernetes.io/part-of": "joypod",
    "app.kubernetes.io/managed-by": "joypod-operator",
  };
}
