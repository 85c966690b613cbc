import { isIPv4 } from "node:net";
import { runOnNode } from "./nodeContainer.ts";
import { platform } from "./platform.ts";

/**
 * The last byte of an address in the nodes' network that the container engine will not assign, because it
 * counts up from the first one.
 */
const lastByte = 250;
const networkDevice = "eth0";

/**
 * A load balancer that works without a cloud: an additional address of a node, which is set in the Service's
 * status, so that kube-proxy on the node serves it.
 */
export class NodeLoadBalancer {
  /** The address, known before a Service uses it. */
  readonly address: string;
  readonly #nodes: readonly string[];

  private constructor(address: string, nodes: readonly string[]) {
    this.address = address;
    this.#nodes = nodes;
  }

  static async reserve(): Promise<NodeLoadBalancer> {
    const lines = await (
      await platform()
    ).kubectl([
      "get",
      "nodes",
      "-o",
      `jsonpath={range .items[*]}{.metadata.name} {.status.addresses[?(@.type=="InternalIP")].address}{"\\n"}{end}`,
    ]);
    const nodes = lines
      .trim()
      .split("\n")
      .map((line) => line.split(" "));
    const used = nodes.flatMap(([, ...addresses]) => addresses).filter((address) => isIPv4(address));
    const address = used[0]?.replace(/\d+$/, String(lastByte)) ?? "";
    if (!isIPv4(address) || used.includes(address))
      throw new Error(`The nodes leave no address for a load balancer: ${used.join(", ")}.`);
    const balancer = new NodeLoadBalancer(
      address,
      nodes.map(([name = ""]) => name),
    );
    await balancer.release();
    return balancer;
  }

  /** Assigns the address to the Service, on this node. */
  async serve(namespace: string, service: string, node: string): Promise<void> {
    await runOnNode(node, "ip", "address", "add", `${this.address}/32`, "dev", networkDevice);
    const status = { loadBalancer: { ingress: [{ ip: this.address }] } };
    await (
      await platform()
    ).kubectl([
      "-n",
      namespace,
      "patch",
      "service",
      service,
      "--subresource=status",
      "--type=merge",
      "--patch",
      JSON.stringify({ status }),
    ]);
  }

  /** Removes the address from the node that has it. */
  async release(): Promise<void> {
    for (const node of this.#nodes) {
      if (
        (await runOnNode(node, "ip", "-4", "-o", "address", "show", "dev", networkDevice)).includes(
          ` ${this.address}/`,
        )
      ) {
        await runOnNode(node, "ip", "address", "del", `${this.address}/32`, "dev", networkDevice);
      }
    }
  }
}
