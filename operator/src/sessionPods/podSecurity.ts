import { sessionUserId } from "#contracts/nodeLayout.ts";
import type { Pod } from "#kube/api/builtin.ts";
import { deviceGroupsOf } from "../gpu/sessionDevices.ts";
import type { GpuConfig } from "../gpu/gpuConfig.ts";

/** Returns whom the containers of a session's pod run as. */
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

/** Of each container of a session's pod. */
export const containerSecurity = {
  readOnlyRootFilesystem: true,
  allowPrivilegeEscalation: false,
  capabilities: { drop: ["ALL"] },
};

/** Returns a volume that is bounded by the kernel and touches no disk. */
export function inMemory(name: string, sizeLimit: string) {
  return { name, emptyDir: { medium: "Memory", sizeLimit } };
}
