import { z } from "zod";
import { type ContainerName, containerNames } from "#contracts/nodeLayout.ts";
import type { Pod } from "#kube/api/builtin.ts";

/** A number of units of one of the node's extended resources. */
interface GpuDevices {
  resourceName: string;
  count: number;
}

/** How sessions get the node's GPU. */
export interface GpuConfig {
  /** The extended resource of each container. Undefined for none. */
  game: GpuDevices | undefined;
  streamer: GpuDevices | undefined;
  /**
   * One claim for both containers, used instead of extended resources. `slotsPerNode` is undefined if not
   * configured.
   */
  claim: { templateName: string; slotsPerNode: number | undefined } | undefined;
  runtimeClass: string | undefined;
  /** Value of NVIDIA_DRIVER_CAPABILITIES. Undefined leaves it unset. */
  driverCapabilities: string | undefined;
  /** Group ids that own the device files on the nodes. */
  groups: readonly number[];
}

/** A toleration of session pods, without a time limit. */
export const Toleration = z
  .strictObject({
    key: z.string().min(1).max(317).exactOptional(),
    operator: z.enum(["Exists", "Equal"]).exactOptional(),
    value: z.string().max(63).exactOptional(),
    effect: z.enum(["NoSchedule", "PreferNoSchedule", "NoExecute"]).exactOptional(),
  })
  .refine(
    ({ key, operator }) => key !== undefined || operator === "Exists",
    "has no key, so its operator must be Exists (it then tolerates every taint)",
  )
  .refine(
    ({ operator, value }) => value === undefined || operator !== "Exists",
    "has both operator Exists and a value. Remove one of them",
  );
export type Toleration = z.infer<typeof Toleration>;

/** The settings from the operator's environment. An empty string means unset. */
interface GpuSettings {
  GPU_RESOURCE_NAME: string;
  GPU_GAME_RESOURCE_NAME: string;
  GPU_GAME_COUNT: number;
  GPU_STREAMER_RESOURCE_NAME: string;
  GPU_STREAMER_COUNT: number;
  GPU_CLAIM_TEMPLATE: string;
  GPU_SLOTS_PER_NODE: number;
  GPU_RUNTIME_CLASS: string;
  GPU_DRIVER_CAPABILITIES: string;
  GPU_GROUPS: readonly number[];
  SESSION_RUNTIME_CLASS: string;
}

/** Returns how sessions get the GPU. Undefined if they render in software. */
export function gpuConfigOf(env: GpuSettings): GpuConfig | undefined {
  const isClaimed = env.GPU_CLAIM_TEMPLATE !== "";
  const game = isClaimed
    ? undefined
    : devices(wordOr(env.GPU_GAME_RESOURCE_NAME, env.GPU_RESOURCE_NAME), env.GPU_GAME_COUNT);
  const streamer = isClaimed
    ? undefined
    : devices(wordOr(env.GPU_STREAMER_RESOURCE_NAME, env.GPU_RESOURCE_NAME), env.GPU_STREAMER_COUNT);
  if (!isClaimed && !game && !streamer) return undefined;
  return {
    game,
    streamer,
    claim: isClaimed
      ? {
          templateName: env.GPU_CLAIM_TEMPLATE,
          slotsPerNode: env.GPU_SLOTS_PER_NODE === 0 ? undefined : env.GPU_SLOTS_PER_NODE,
        }
      : undefined,
    runtimeClass: env.GPU_RUNTIME_CLASS === "" ? undefined : env.GPU_RUNTIME_CLASS,
    driverCapabilities: env.GPU_DRIVER_CAPABILITIES === "" ? undefined : env.GPU_DRIVER_CAPABILITIES,
    groups: env.GPU_GROUPS,
  };
}

function devices(resourceName: string, count: number): GpuDevices | undefined {
  return resourceName === "" || count === 0 ? undefined : { resourceName, count };
}

function wordOr(word: string, otherwise: string): string {
  return word === "" ? otherwise : word;
}

/** Returns the errors in the settings, by variable: contradictions and settings without effect. */
export function gpuMistakes(env: GpuSettings): { variable: string; message: string }[] {
  const isClaimed = env.GPU_CLAIM_TEMPLATE !== "";
  const isNamed = [env.GPU_RESOURCE_NAME, env.GPU_GAME_RESOURCE_NAME, env.GPU_STREAMER_RESOURCE_NAME].some(
    (name) => name !== "",
  );
  const isGameGiven =
    env.GPU_GAME_COUNT > 0 && wordOr(env.GPU_GAME_RESOURCE_NAME, env.GPU_RESOURCE_NAME) !== "";
  const own = (["GAME", "STREAMER"] as const).filter(
    (container) => env[`GPU_${container}_RESOURCE_NAME`] !== "",
  );
  const mistakes = [
    ...own.map((container) => ({
      isWrong: !isClaimed && env[`GPU_${container}_COUNT`] === 0,
      variable: `GPU_${container}_COUNT`,
      message: `is 0 where GPU_${container}_RESOURCE_NAME is set: set it to 1 or more, or leave the name empty`,
    })),
    ...own.map((container) => ({
      isWrong: isClaimed,
      variable: `GPU_${container}_RESOURCE_NAME`,
      message: "has no effect with GPU_CLAIM_TEMPLATE. Leave one of them empty",
    })),
    {
      isWrong:
        !isClaimed &&
        isNamed &&
        !isGameGiven &&
        (env.GPU_STREAMER_COUNT === 0 || env.GPU_RUNTIME_CLASS === ""),
      variable: "GPU_GAME_COUNT",
      message:
        "or the game's resource is none, so that games do not reach the GPU: set both, or GPU_STREAMER_COUNT with a GPU_RUNTIME_CLASS, or leave GPU_RESOURCE_NAME empty to render in software",
    },
    {
      isWrong: !isClaimed && env.GPU_SLOTS_PER_NODE !== 0,
      variable: "GPU_SLOTS_PER_NODE",
      message:
        "applies only with GPU_CLAIM_TEMPLATE. Without it, slots follow from the resources that the node offers",
    },
    {
      isWrong:
        env.GPU_RUNTIME_CLASS !== "" &&
        env.SESSION_RUNTIME_CLASS !== "" &&
        env.GPU_RUNTIME_CLASS !== env.SESSION_RUNTIME_CLASS,
      variable: "SESSION_RUNTIME_CLASS",
      message: "differs from GPU_RUNTIME_CLASS, but a pod has only one runtime class",
    },
  ];
  return mistakes.flatMap(({ isWrong, variable, message }) => (isWrong ? [{ variable, message }] : []));
}

/** Key of a GPU node's taint if it is not named after the resource. */
const usualTaintKey = "nvidia.com/gpu";

/**
 * Returns the tolerations that allow session pods on GPU nodes: for taints named after a configured resource,
 * for the usual taint, and the given ones.
 */
export function gpuTolerations(env: GpuSettings, extra: readonly Toleration[]): Toleration[] {
  const names = [
    env.GPU_GAME_RESOURCE_NAME,
    env.GPU_STREAMER_RESOURCE_NAME,
    env.GPU_RESOURCE_NAME,
    usualTaintKey,
  ].filter((name) => name !== "");
  return [
    ...[...new Set(names)].map((key) => ({
      key,
      operator: "Exists" as const,
      effect: "NoSchedule" as const,
    })),
    ...extra,
  ];
}

type PodSpec = NonNullable<Pod["spec"]>;
type Resources = NonNullable<PodSpec["containers"][number]["resources"]>;

/** Name of the claim within its pod. */
const claimName = "gpu";

/** The part of a container's spec that gives it access to the GPU. */
interface ContainerDevices {
  env: Record<string, string>;
  limits: Record<string, string>;
  claims: Pick<Resources, "claims">;
}

/**
 * Returns the container's GPU access, which is empty if sessions render in software. A game of several shares
 * gets a multiple of the devices of its own container or, if that has none, of the streamer's.
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
      // The device plugin sets this variable for containers with devices. A container without devices may use
      // all of the node's.
      ...(own || gpu.claim || gpu.runtimeClass === undefined ? {} : { NVIDIA_VISIBLE_DEVICES: "all" }),
    },
    limits: own ? { [own.resourceName]: String(own.count * (isShared ? share : 1)) } : {},
    claims: gpu.claim ? { claims: [{ name: claimName }] } : {},
  };
}

/** Returns the pod's only claim, which both containers reference. */
export function resourceClaimsOf(gpu: GpuConfig | undefined): Pick<PodSpec, "resourceClaims"> {
  return gpu?.claim
    ? { resourceClaims: [{ name: claimName, resourceClaimTemplateName: gpu.claim.templateName }] }
    : {};
}

/** Returns the groups that own the nodes' device files, which give non-root containers access to them. */
export function deviceGroupsOf(
  gpu: GpuConfig | undefined,
): Pick<NonNullable<PodSpec["securityContext"]>, "supplementalGroups"> {
  return gpu && gpu.groups.length > 0 ? { supplementalGroups: [...gpu.groups] } : {};
}
