import { containerEngine } from "#test/support/session/containers.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { programPath } from "#test/support/processes/programs.ts";
import { platform, releaseNamespace } from "./platform.ts";

const namespace = "joypod-fake-gpus";
const programFolder = "/opt/joypod-fake-gpus";
const pluginFolder = "/var/lib/kubelet/device-plugins";

/**
 * Fake GPU shares of nodes: the resource name of the vendor's plugin, and the number that each node offers.
 */
export interface FakeGpus {
  resource: string;
  shares: Readonly<Record<string, number>>;
}

/** Path of the device in containers with a share. */
export const fakeGpuPath = "/dev/fakegpu0";
/** Environment variable with the shares of a container. */
export const fakeGpuShares = "FAKE_GPU_SHARES";

/** Starts a device plugin on the game nodes, which are containers. Resolves when each offers its shares. */
export async function offerFakeGpus(gpus: FakeGpus): Promise<void> {
  const installed = await platform();
  await putProgram(Object.keys(gpus.shares));
  const image = await installed.kubectl([
    "-n",
    releaseNamespace,
    "get",
    "deploy/joypod-api",
    "-o",
    "jsonpath={.spec.template.spec.containers[0].image}",
  ]);
  await installed.kubectl(
    ["apply", "-f", "-"],
    JSON.stringify({ apiVersion: "v1", kind: "List", items: manifests(gpus, image) }),
  );
  for (const [node, count] of Object.entries(gpus.shares)) await offers(node, gpus.resource, count);
}

/** Stops the device plugin. Resolves when no node offers shares any more. */
export async function removeFakeGpus({ resource, shares }: FakeGpus): Promise<void> {
  await (
    await platform()
  ).kubectl(["delete", "namespace", namespace, "--ignore-not-found", "--timeout=120s"]);
  for (const node of Object.keys(shares)) await offers(node, resource, 0);
}

async function putProgram(nodes: readonly string[]): Promise<void> {
  const [engine, program] = await Promise.all([containerEngine(), programPath("devicePlugin")]);
  for (const node of nodes) {
    await engine.run("exec", node, "mkdir", "-p", programFolder);
    await engine.run("cp", program, `${node}:${programFolder}/devicePlugin`);
  }
}

async function offers(node: string, resource: string, count: number): Promise<void> {
  const installed = await platform();
  await eventually(
    async () => {
      const { status } = JSON.parse(await installed.kubectl(["get", "node", node, "-o", "json"])) as {
        status: { allocatable: Record<string, string> };
      };
      return Number(status.allocatable[resource] ?? "0") === count;
    },
    { timeoutMs: 60_000, intervalMs: 500, what: `${node} to offer ${count} of ${resource}` },
  );
}

function manifests({ resource, shares }: FakeGpus, image: string): object[] {
  const labels = { app: "fake-gpus" };
  const folders = { plugins: pluginFolder, program: programFolder };
  const args = [
    `-resource=${resource}`,
    `-device=${fakeGpuPath}`,
    `-shares=${Object.entries(shares)
      .map((pair) => pair.join("="))
      .join(",")}`,
  ];
  return [
    {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: namespace, labels: { "pod-security.kubernetes.io/enforce": "privileged" } },
    },
    {
      apiVersion: "apps/v1",
      kind: "DaemonSet",
      metadata: { name: "fake-gpus", namespace },
      spec: {
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            nodeSelector: { "nvidia.com/gpu.present": "true" },
            tolerations: [{ operator: "Exists" }],
            automountServiceAccountToken: false,
            terminationGracePeriodSeconds: 5,
            containers: [
              {
                name: "plugin",
                image,
                imagePullPolicy: "Never",
                command: [`${programFolder}/devicePlugin`],
                args,
                env: [{ name: "NODE_NAME", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } }],
                securityContext: { runAsUser: 0, runAsNonRoot: false },
                volumeMounts: [
                  { name: "plugins", mountPath: pluginFolder },
                  { name: "program", mountPath: programFolder, readOnly: true },
                ],
              },
            ],
            volumes: Object.entries(folders).map(([name, path]) => ({
              name,
              hostPath: { path, type: "Directory" },
            })),
          },
        },
      },
    },
  ];
}
