import { randomBytes } from "node:crypto";
import { pods, type Pod } from "#kube/builtin.ts";
import { decodeWatchLine } from "#kube/watchEvent.ts";
import { releaseNamespace, type Platform } from "#test/e2e/support/platform.ts";

/** Milliseconds from the creation of a pod with one container that does nothing, on a game node, to its Ready condition. */
export async function measureBarePod(platform: Platform, image: string, nodeName: string): Promise<number> {
  const ref = { namespace: releaseNamespace, name: `bench-${randomBytes(4).toString("hex")}` };
  const started = performance.now();
  await platform.pods.create({ metadata: ref, spec: barePodSpec(image, nodeName) });
  try {
    await untilReady(platform, ref);
    return performance.now() - started;
  } finally {
    await platform.pods.delete(ref, { gracePeriodSeconds: 0 });
  }
}

function barePodSpec(image: string, nodeName: string): NonNullable<Pod["spec"]> {
  return {
    restartPolicy: "Never",
    automountServiceAccountToken: false,
    nodeSelector: { "kubernetes.io/hostname": nodeName },
    containers: [{ name: "bare", image, imagePullPolicy: "IfNotPresent", command: ["sleep", "600"] }],
  };
}

/** Told by a watch, so that no polling pause is measured. */
async function untilReady(platform: Platform, ref: { namespace: string; name: string }): Promise<void> {
  const { resourceVersion } = (await platform.pods.get(ref)).metadata;
  const selection = { namespace: ref.namespace, fieldSelector: `metadata.name=${ref.name}` };
  const watch = { ...selection, resourceVersion, timeoutSeconds: 120, idleDeadlineMs: 120_000, signal: AbortSignal.timeout(120_000) };
  for await (const line of platform.pods.watch(watch)) {
    const event = decodeWatchLine(pods, line);
    if (event.type === "changed" && isReady(event.object)) return;
  }
  throw new Error(`The pod ${ref.name} was not ready within two minutes.`);
}

function isReady({ status }: Pod): boolean {
  return status?.conditions?.some((condition) => condition.type === "Ready" && condition.status === "True") ?? false;
}
