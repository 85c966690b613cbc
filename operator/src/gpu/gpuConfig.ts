import { z } from "zod";
import { type ContainerName, containerNames } from "#contracts/nodeLayout.ts";
import type { Pod } from "#kube/api/builtin.ts";

/** So many of an extended resource of the node. */
interface GpuDevices {
  resourceName: string;
  count: number;
}

/** How a session gets the node's GPU. */
export interface GpuConfig {
  /** The resource that each container takes. Undefined: none. */
  game: GpuDevices | undefined;
  streamer: GpuDevices | undefined;
  /**
   * One claim for both containers, in place of extended resources; `slotsPerNode` undefined: nobody has said
   * how many sessions a node takes.
   */
  claim: { templateName: string; slotsPerNode: number | undefined } | undefined;
  runtimeClass: string | undefined;
  /** Value of NVIDIA_DRIVER_CAPABILITIES. Undefined leaves it unset. */
  driverCapabilities: string | undefined;
  /** Group ids that own the device files on the nodes. */
  groups: readonly number[];
}

/** A toleration of session pods, without a limit in time. */
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

/** Returns how sessions get the GPU; undefined: they render in software. */
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

/**
 * Returns what is wrong with the settings, by variable: those that contradict each other, and those without
 * effect.
 */
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

/** What a GPU node's taint is called unless its resource has another name. */
const usualTaintKey = "nvidia.com/gpu";

/**
 * Returns the tolerations that let session pods on GPU nodes: of the taints that bear a resource's name, of
 * the usual one, and the given ones.
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

/** Of the claim within its pod. */
const claimName = "gpu";

/** What one container of a session's pod gets to reach the GPU. */
interface ContainerDevices {
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
