import { containerNames, type ContainerName } from "#contracts/nodeLayout.ts";
import type { Pod } from "#kube/api/builtin.ts";
import type { GpuConfig } from "./gpuConfig.ts";

type PodSpec = NonNullable<Pod["spec"]>;
type Resources = NonNullable<PodSpec["containers"][number]["resources"]>;

/** Of the claim within its pod. */
const claimName = "gpu";

/** What one container of a session's pod gets to reach the GPU. */
export interface ContainerDevices {
  env: Record<string, string>;
  limits: Record<string, string>;
  claims: Pick<Resources, "claims">;
}

/**
 * Returns what the container gets; nothing where sessions render in software. A game of several shares gets
 * as many times the devices of its own container or, where that holds none, of the streamer's.
 */
export function devicesOf(
  container: ContainerName,
  gpu: GpuConfig | undefined,
  share: number,
): ContainerDevices {
  if (!gpu) return { env: {}, limits: {}, claims: {} };
  const own = gpu[container];
  const isShared = container === containerNames.game || gpu.game === undefined;
  return {
    env: {
      ...(gpu.driverCapabilities === undefined ? {} : { NVIDIA_DRIVER_CAPABILITIES: gpu.driverCapabilities }),
      // For a container that holds a device the device plugin sets this variable. A container without one may
      // reach all of the node's devices.
      ...(own || gpu.claim || gpu.runtimeClass === undefined ? {} : { NVIDIA_VISIBLE_DEVICES: "all" }),
    },
    limits: own ? { [own.resourceName]: String(own.count * (isShared ? share : 1)) } : {},
    claims: gpu.claim ? { claims: [{ name: claimName }] } : {},
  };
}

/** Returns the pod's one claim, which both containers name. */
export function resourceClaimsOf(gpu: GpuConfig | undefined): Pick<PodSpec, "resourceClaims"> {
  return gpu?.claim
    ? { resourceClaims: [{ name: claimName, resourceClaimTemplateName: gpu.claim.templateName }] }
    : {};
}

/** Returns the groups that own the nodes' device files, which containers that are not root open by them. */
export function deviceGroupsOf(
  gpu: GpuConfig | undefined,
): Pick<NonNullable<PodSpec["securityContext"]>, "supplementalGroups"> {
  return gpu && gpu.groups.length > 0 ? { supplementalGroups: [...gpu.groups] } : {};
}
