import { pods, type Pod } from "#kube/api/builtin.ts";
import type { ResourceType } from "#kube/api/resourceType.ts";

type PodSpec = NonNullable<Pod["spec"]>;
type Container = PodSpec["containers"][number];

const keptOfSpec = ["nodeName", "affinity", "overhead", "resources"] as const satisfies (keyof PodSpec)[];
const keptOfContainers = ["ports", "resources", "restartPolicy"] as const satisfies (keyof Container)[];

/**
 * Pods of sessions, as far as decisions look at them: what a pod is, where it goes, what it takes of its
 * node, and its status. What its containers run, mount and are told, most of a pod, is dropped as soon as it
 * is read, for there is one in memory for each session.
 */
// The server is believed, as for pods that are kept whole.
export const sessionPods: ResourceType<Pod> = { ...pods, parse: (value) => outlineOf(value as Pod) };

function outlineOf({ spec, ...rest }: Pod): Pod {
  if (spec === undefined) return rest;
  const { initContainers, containers } = spec;
  return {
    ...rest,
    spec: {
      ...pick(spec, keptOfSpec),
      ...(initContainers === undefined ? {} : { initContainers: initContainers.map(outlineOfContainer) }),
      containers: containers.map(outlineOfContainer),
    },
  };
}

function outlineOfContainer(container: Container): Container {
  return { name: container.name, ...pick(container, keptOfContainers) };
}

/** Returns those of the fields that the object has. */
function pick<T extends object, K extends keyof T>(object: T, keys: readonly K[]): Pick<T, K> {
  return Object.fromEntries(
    keys.flatMap((key) => (object[key] === undefined ? [] : [[key, object[key]]])),
  ) as Pick<T, K>;
}
