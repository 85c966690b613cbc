import { randomBytes } from "node:crypto";
import { pods, type Pod } from "#kube/api/builtin.ts";
import { decodeWatchLine, type WatchEvent } from "#kube/client/watchEvent.ts";
import { releaseNamespace, type Platform } from "#test/e2e/support/platform.ts";

/** Times of a bare pod in the cluster, in milliseconds. */
export interface BarePodTimes {
  /** From the creation to the Ready condition. */
  startMs: number;
  /** From the deletion, with a grace period, until the object is gone. */
  stopMs: number;
}

/** Measures a pod on a game node. Its only container does nothing and exits at once when stopped. */
export async function measureBarePod(
  platform: Platform,
  image: string,
  nodeName: string,
): Promise<BarePodTimes> {
  const ref = { namespace: releaseNamespace, name: `bench-${randomBytes(4).toString("hex")}` };
  const started = performance.now();
  await platform.pods.create({ metadata: ref, spec: barePodSpec(image, nodeName) });
  await until(platform, ref, "to be ready", (event) => event.type === "changed" && isReady(event.object));
  const startMs = performance.now() - started;
  const stopped = performance.now();
  const gone = until(platform, ref, "to be gone", (event) => event.type === "deleted");
  await platform.pods.delete(ref);
  await gone;
  return { startMs, stopMs: performance.now() - stopped };
}

function barePodSpec(image: string, nodeName: string): NonNullable<Pod["spec"]> {
  return {
    restartPolicy: "Never",
    automountServiceAccountToken: false,
    // Required by the release's namespace.
    securityContext: { runAsNonRoot: true, runAsUser: 10_000, seccompProfile: { type: "RuntimeDefault" } },
    nodeSelector: { "kubernetes.io/hostname": nodeName },
    containers: [
      {
        name: "bare",
        image,
        imagePullPolicy: "IfNotPresent",
        command: ["sh", "-c", "trap 'exit 0' TERM; sleep 600 & wait"],
        securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
      },
    ],
  };
}

/** Uses a watch, because polling would add its interval to the result. */
async function until(
  platform: Platform,
  ref: { namespace: string; name: string },
  what: string,
  isIt: (event: WatchEvent<Pod>) => boolean,
): Promise<void> {
  const { resourceVersion } = (await platform.pods.get(ref)).metadata;
  const selection = { namespace: ref.namespace, fieldSelector: `metadata.name=${ref.name}` };
  const watch = {
    ...selection,
    resourceVersion,
    timeoutSeconds: 120,
    idleDeadlineMs: 120_000,
    signal: AbortSignal.timeout(120_000),
  };
  for await (const line of platform.pods.watch(watch)) if (isIt(decodeWatchLine(pods, line))) return;
  throw new Error(`The pod ${ref.name} was not seen ${what} within two minutes.`);
}

function isReady({ status }: Pod): boolean {
  return (
    status?.conditions?.some((condition) => condition.type === "Ready" && condition.status === "True") ??
    false
  );
}
