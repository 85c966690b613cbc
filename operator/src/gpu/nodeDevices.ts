import { gpuNotSharedReasons } from "#contracts/crd/gameNodeReasons.ts";
import type { Node } from "#kube/api/builtin.ts";
import { parseQuantity } from "#kube/api/quantity.ts";
import type { GpuConfig } from "./gpuConfig.ts";

/**
 * Slots of a node if the claim does not configure a number. With one slot, a node with an unshared GPU is
 * playable.
 */
const slotsOfUncountedClaim = 1;

/**
 * Returns the number of sessions that the node has devices for: its devices divided by the total that the
 * containers of one session take.
 */
export function gpuSlotsOf(node: Node, gpu: GpuConfig): number {
  if (gpu.claim) return gpu.claim.slotsPerNode ?? slotsOfUncountedClaim;
  const slots = [...sessionTakes(gpu)].map(([resourceName, count]) =>
    Math.floor(offered(node, resourceName) / count),
  );
  return slots.length === 0 ? 0 : Math.min(...slots);
}

/** Returns the total devices that the containers of one session take, by resource. */
function sessionTakes({ game, streamer }: GpuConfig): Map<string, number> {
  const takes = new Map<string, number>();
  for (const { resourceName, count } of [game, streamer].filter((devices) => devices !== undefined)) {
    takes.set(resourceName, (takes.get(resourceName) ?? 0) + count);
  }
  return takes;
}

function offered(node: Node, resourceName: string): number {
  // A quantity of one thousand is written "1k".
  const count = parseQuantity(node.status?.allocatable?.[resourceName]) ?? 0;
  return Number.isInteger(count) && count > 0 ? count : 0;
}

/**
 * Whether a chart value must be set so that both containers, or more than one session, can use the node's
 * GPU. The message names the value.
 */
export interface GpuSharing {
  status: "True" | "False";
  reason: (typeof gpuNotSharedReasons)[keyof typeof gpuNotSharedReasons];
  message: string;
}

/** Returns the most severe problem that prevents sharing the node's GPU. */
export function gpuSharingOf(node: Node, gpu: GpuConfig | undefined): GpuSharing {
  if (!gpu)
    return {
      status: "False",
      reason: gpuNotSharedReasons.software,
      message: "Sessions use no GPU and render in software.",
    };
  if (gpu.claim) return claimSharing(gpu.claim);
  return (
    shortageOf(node, gpu) ??
    streamerWithoutGpu(gpu) ?? {
      status: "False",
      reason: gpuNotSharedReasons.shared,
      message: "Both containers of a session can use the GPU.",
    }
  );
}

function claimSharing({ templateName, slotsPerNode }: NonNullable<GpuConfig["claim"]>): GpuSharing {
  if (slotsPerNode !== undefined)
    return {
      status: "False",
      reason: gpuNotSharedReasons.shared,
      message: `Both containers of a session share a claim of template ${templateName}.`,
    };
  const message = `It is not configured how many claims of template ${templateName} the node can serve, so it takes one session. Set gpu.slotsPerNode.`;
  return { status: "True", reason: gpuNotSharedReasons.slotsNotSet, message };
}

/** Returns the problem if the node has too few devices for even one session. */
function shortageOf(node: Node, gpu: GpuConfig): GpuSharing | undefined {
  for (const [resourceName, count] of sessionTakes(gpu)) {
    const has = offered(node, resourceName);
    if (has >= count) continue;
    if (has === 0) {
      const message = `The node offers no ${resourceName}. Run its device plugin there, or set gpu.resourceName to a resource that the node offers ("" to render in software).`;
      return { status: "True", reason: gpuNotSharedReasons.noDevices, message };
    }
    const message = `A session needs ${count} of ${resourceName}, but the node offers ${has}. Configure its device plugin to share the GPU, or set gpu.streamer.count to 0 and gpu.runtimeClassName.`;
    return { status: "True", reason: gpuNotSharedReasons.tooFewDevices, message };
  }
  return undefined;
}

/**
 * Returns the problem if the streamer, whose display the game draws on, has neither devices nor a runtime
 * class that gives it access to the node's.
 */
function streamerWithoutGpu({ streamer, runtimeClass }: GpuConfig): GpuSharing | undefined {
  if (streamer || runtimeClass !== undefined) return undefined;
  const message =
    "The streamer, which runs the games' display, cannot use the GPU, so sessions occupy a device but render in software: " +
    "set gpu.runtimeClassName (NVIDIA), or gpu.streamer.count if the device plugin shares the GPU, or gpu.claim.";
  return { status: "True", reason: gpuNotSharedReasons.oneContainer, message };
}
