import { z } from "zod";
import { internetAddress, internetPort } from "./fakeInternet.ts";
import { platform, releaseNamespace } from "./platform.ts";

const Nodes = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ labels: z.record(z.string(), z.string()) }),
      status: z.object({ addresses: z.array(z.object({ type: z.string(), address: z.string() })) }),
    }),
  ),
});

/**
 * Returns likely targets of a hostile game as HOST:PORT: the cluster's API, kubelets, stores, metrics, and a
 * public host.
 */
export async function clusterTargets(): Promise<string[]> {
  const installed = await platform();
  const serviceIp = async (namespace: string, name: string): Promise<string> =>
    (
      await installed.kubectl(["-n", namespace, "get", "service", name, "-o", "jsonpath={.spec.clusterIP}"])
    ).trim();
  const { items: nodes } = Nodes.parse(JSON.parse(await installed.kubectl(["get", "nodes", "-o", "json"])));
  const addressOf = ({ status }: (typeof nodes)[number]): string =>
    status.addresses.find(({ type }) => type === "InternalIP")?.address ?? "";
  const { items: apis } = await installed.pods.list({
    namespace: releaseNamespace,
    labelSelector: "app.kubernetes.io/component=api",
  });
  return [
    `${await serviceIp("default", "kubernetes")}:443`,
    ...nodes
      .filter(({ metadata }) => "node-role.kubernetes.io/control-plane" in metadata.labels)
      .map((node) => `${addressOf(node)}:6443`),
    ...nodes.map((node) => `${addressOf(node)}:10250`),
    `${await serviceIp(releaseNamespace, "joypod-postgres")}:5432`,
    `${await serviceIp(releaseNamespace, "joypod-redis")}:6379`,
    `${await serviceIp(releaseNamespace, "joypod-minio")}:9000`,
    ...apis.flatMap(({ status }) => (status?.podIP === undefined ? [] : [`${status.podIP}:8083`])),
    `${internetAddress}:${internetPort}`,
  ];
}

const connectScript = `
const { connect } = require("node:net");
for (const target of process.argv.slice(1)) {
  const [host, port] = target.split(":");
  const socket = connect({ host, port: Number(port), timeout: 5000 });
  const tell = (word) => { console.log(target + " " + word); socket.destroy(); };
  socket.on("connect", () => tell("reached")).on("timeout", () => tell("silent")).on("error", (error) => tell(error.code));
}`;

/** Tries a TCP connection to each target from an ordinary pod. The result is `reached` or the error. */
export async function reachedFromPod(targets: readonly string[]): Promise<Map<string, string>> {
  const output = await (await platform()).inApiPod(connectScript, ...targets);
  return new Map(
    output
      .trim()
      .split("\n")
      .map((line) => {
        const [target = "", word = ""] = line.split(" ");
        return [target, word];
      }),
  );
}
