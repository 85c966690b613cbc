import type { PodResources } from "#contracts/crd/capacity.ts";
import type { Pod } from "#kube/api/builtin.ts";
import { parseQuantity } from "#kube/api/quantity.ts";

type PodSpec = NonNullable<Pod["spec"]>;
type Container = PodSpec["containers"][number];
type Quantities = Record<string, string> | undefined;

/**
 * Returns a pod's resource requests as the scheduler counts them: init containers run one after another,
 * sidecars run alongside everything that starts after them.
 */
export function podRequests({ spec }: { spec?: PodSpec | undefined }): PodResources {
  return {
    cpuMillicores: Math.ceil(millicoresOf(requestOf(spec, "cpu"))),
    memoryBytes: Math.ceil(requestOf(spec, "memory")),
  };
}

/** Returns quantities in the operator's units. Resources missing from the list are undefined. */
export function resourcesIn(quantities: Quantities): Partial<PodResources> {
  const cpu = parseQuantity(quantities?.["cpu"]);
  const memory = parseQuantity(quantities?.["memory"]);
  return {
    ...(cpu !== undefined && { cpuMillicores: Math.floor(millicoresOf(cpu)) }),
    ...(memory !== undefined && { memoryBytes: Math.floor(memory) }),
  };
}

/**
 * Returns CPUs in millicores. Rounds to micro-units first, so that floating-point error in a sum does not
 * count as a millicore.
 */
function millicoresOf(cpus: number): number {
  return Math.round(cpus * 1e6) / 1e3;
}

function requestOf(spec: PodSpec | undefined, name: "cpu" | "memory"): number {
  if (spec === undefined) return 0;
  const overhead = parseQuantity(spec.overhead?.[name]) ?? 0;
  const ofWholePod = parseQuantity(spec.resources?.requests?.[name]);
  if (ofWholePod !== undefined) return ofWholePod + overhead;
  const request = ({ resources }: Container): number => parseQuantity(resources?.requests?.[name]) ?? 0;
  let sidecars = 0;
  let highest = 0;
  for (const container of spec.initContainers ?? []) {
    if (container.restartPolicy === "Always") sidecars += request(container);
    highest = Math.max(
      highest,
      container.restartPolicy === "Always" ? sidecars : sidecars + request(container),
    );
  }
  const together = spec.containers.reduce((sum, container) => sum + request(container), sidecars);
  return Math.max(highest, together) + overhead;
}
