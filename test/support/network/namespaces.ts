import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";

const run = promisify(execFile);
const commandDeadlineMs = 15_000;

/** A machine of the test network. */
export interface TestHost {
  /** Name of its network namespace. */
  namespace: string;
  ipv4: string;
  ipv6: string;
}

const places = ["own", "client", "relay", "node"] as const;
type Place = (typeof places)[number];

let nextNetwork = 0;

/**
 * A network of four machines around a router, each a Linux network namespace: the test process (as the API),
 * a player, a relay and a game node. Needs root, and reaches nothing outside this machine.
 */
export class TestNetwork {
  readonly client: TestHost;
  readonly relay: TestHost;
  readonly node: TestHost;
  /** Addresses of the test process. */
  readonly own: { ipv4: string; ipv6: string };
  readonly #router: string;
  readonly #number: number;
  #clientHost = 2;

  private constructor(prefix: string, number: number) {
    this.#router = `${prefix}-router`;
    this.#number = number;
    const hostAt = (place: Place): TestHost => ({
      namespace: `${prefix}-${place}`,
      ...this.#addressesAt(place, 2),
    });
    [this.client, this.relay, this.node] = [hostAt("client"), hostAt("relay"), hostAt("node")];
    this.own = this.#addressesAt("own", 2);
  }

  /**
   * Creates the network.
   *
   * @throws With a message about what is missing.
   */
  static async create(): Promise<TestNetwork> {
    if (process.getuid?.() !== 0 || !existsSync("/usr/sbin/iptables")) {
      throw new Error(
        "Tests of networks make network namespaces: run them as root, with the Debian packages iproute2 and iptables.",
      );
    }
    await removeAbandoned();
    // Concurrent test processes use different numbers. The range is reserved for benchmarks, so no other
    // network of the machine uses it.
    const number = (process.pid % 32) * 8 + (nextNetwork++ % 8);
    const network = new TestNetwork(`jp${process.pid}-${number}`, number);
    try {
      await network.#build();
    } catch (error) {
      await network.remove();
      throw error;
    }
    return network;
  }

  /** Drops forwarded packets that match an iptables rule, for IPv4 and IPv6. */
  async drop(words: string): Promise<void> {
    for (const program of ["iptables", "ip6tables"])
      await this.#onRouter(program, "-w", "-A", "FORWARD", ...words.split(" "), "-j", "DROP");
  }

  /** Drops the player's UDP to and from the node, like a firewall that blocks unknown ports. */
  async dropDirectMedia(): Promise<void> {
    await this.drop("-i client -o node -p udp");
  }

  /** Drops all UDP of the player. */
  async dropUdp(): Promise<void> {
    await this.drop("-i client -p udp");
  }

  /** Removes all drop rules, and restores the player's first address. */
  async restore(): Promise<void> {
    for (const program of ["iptables", "ip6tables"]) await this.#onRouter(program, "-w", "-F", "FORWARD");
    await this.dropClientIpv4();
    await this.inNamespace(this.client, "ip", "-6", "address", "flush", "dev", "eth0", "scope", "global");
    this.#clientHost = 2;
    await this.#setClient(this.client);
  }

  /** Unplugs or plugs in the player's cable. */
  async plugClient(isIn: boolean): Promise<void> {
    await this.#onRouter("ip", "link", "set", "client", isIn ? "up" : "down");
    // An interface loses its IPv6 addresses when it goes down.
    if (isIn)
      await this.#onRouter(
        "ip",
        "-6",
        "address",
        "replace",
        `${this.#addressesAt("client", 1).ipv6}/64`,
        "dev",
        "client",
        "nodad",
      );
  }

  /** Moves the player to another address, as when changing networks. */
  async moveClient(): Promise<void> {
    const before = this.#addressesAt("client", this.#clientHost);
    const after = this.#addressesAt("client", ++this.#clientHost);
    const onClient = (...words: string[]): Promise<void> => this.inNamespace(this.client, "ip", ...words);
    // The old address is removed first, because removing it later would also remove a second address of the
    // same network.
    await onClient("address", "del", `${before.ipv4}/24`, "dev", "eth0");
    await onClient("-6", "address", "del", `${before.ipv6}/64`, "dev", "eth0");
    await this.#setClient(after);
  }

  async #setClient({ ipv4, ipv6 }: { ipv4: string; ipv6: string }): Promise<void> {
    const onClient = (...words: string[]): Promise<void> => this.inNamespace(this.client, "ip", ...words);
    const router = this.#addressesAt("client", 1);
    await onClient("address", "replace", `${ipv4}/24`, "dev", "eth0");
    await onClient("-6", "address", "replace", `${ipv6}/64`, "dev", "eth0", "nodad");
    await onClient("route", "replace", "default", "via", router.ipv4);
    await onClient("-6", "route", "replace", "default", "via", router.ipv6);
  }

  /** Removes the player's IPv4 address. */
  async dropClientIpv4(): Promise<void> {
    await this.inNamespace(this.client, "ip", "-4", "address", "flush", "dev", "eth0");
  }

  /** Runs a program on a machine of the network. */
  async inNamespace({ namespace }: Pick<TestHost, "namespace">, ...command: string[]): Promise<void> {
    await run("ip", ["netns", "exec", namespace, ...command], { timeout: commandDeadlineMs });
  }

  async remove(): Promise<void> {
    for (const namespace of [
      this.#router,
      this.client.namespace,
      this.relay.namespace,
      this.node.namespace,
    ]) {
      await run("ip", ["netns", "delete", namespace], { timeout: commandDeadlineMs }).catch(() => undefined);
    }
  }

  async #build(): Promise<void> {
    for (const namespace of [
      this.#router,
      this.client.namespace,
      this.relay.namespace,
      this.node.namespace,
    ]) {
      await run("ip", ["netns", "add", namespace], { timeout: commandDeadlineMs });
      await this.inNamespace({ namespace }, "ip", "link", "set", "lo", "up");
    }
    await this.#onRouter("sysctl", "-q", "-w", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1");
    for (const place of ["client", "relay", "node"] as const)
      await this.#connect(place, this[place].namespace);
    await this.#connectOwn();
  }

  async #connect(place: Exclude<Place, "own">, namespace: string): Promise<void> {
    await run(
      "ip",
      [
        "link",
        "add",
        place,
        "netns",
        this.#router,
        "type",
        "veth",
        "peer",
        "name",
        "eth0",
        "netns",
        namespace,
      ],
      { timeout: commandDeadlineMs },
    );
    await this.#raise(place);
    const [here, router] = [this.#addressesAt(place, 2), this.#addressesAt(place, 1)];
    const inside = (...words: string[]): Promise<void> => this.inNamespace({ namespace }, "ip", ...words);
    await inside("address", "add", `${here.ipv4}/24`, "dev", "eth0");
    await inside("-6", "address", "add", `${here.ipv6}/64`, "dev", "eth0", "nodad");
    await inside("link", "set", "eth0", "up");
    await inside("route", "add", "default", "via", router.ipv4);
    await inside("-6", "route", "add", "default", "via", router.ipv6);
  }

  /**
   * Routes only the network's addresses through the router. Other routes of the test process do not change.
   */
  async #connectOwn(): Promise<void> {
    const name = `jpt${this.#number}`;
    await run("ip", ["link", "add", "own", "netns", this.#router, "type", "veth", "peer", "name", name], {
      timeout: commandDeadlineMs,
    });
    await this.#raise("own");
    const router = this.#addressesAt("own", 1);
    const here = (...words: string[]) => run("ip", words, { timeout: commandDeadlineMs });
    await here("address", "add", `${this.own.ipv4}/24`, "dev", name);
    await here("-6", "address", "add", `${this.own.ipv6}/64`, "dev", name, "nodad");
    await here("link", "set", name, "up");
    for (const place of ["client", "relay", "node"] as const) {
      const { ipv4, ipv6 } = this.#addressesAt(place, 0);
      await here("route", "add", `${ipv4}/24`, "via", router.ipv4);
      await here("-6", "route", "add", `${ipv6}/64`, "via", router.ipv6);
    }
  }

  async #raise(place: Place): Promise<void> {
    const { ipv4, ipv6 } = this.#addressesAt(place, 1);
    await this.#onRouter("ip", "address", "add", `${ipv4}/24`, "dev", place);
    await this.#onRouter("ip", "-6", "address", "add", `${ipv6}/64`, "dev", place, "nodad");
    await this.#onRouter("ip", "link", "set", place, "up");
  }

  #addressesAt(place: Place, host: number): { ipv4: string; ipv6: string } {
    const net = this.#number * 4 + places.indexOf(place);
    return {
      ipv4: `198.${18 + Math.floor(net / 256)}.${net % 256}.${host}`,
      ipv6: `fd00:6a70:${net.toString(16)}::${host}`,
    };
  }

  #onRouter(...command: string[]): Promise<void> {
    return this.inNamespace({ namespace: this.#router }, ...command);
  }
}

/** Removes networks of killed test processes, because a later process may use their numbers and addresses. */
async function removeAbandoned(): Promise<void> {
  const { stdout } = await run("ip", ["netns", "list"], { timeout: commandDeadlineMs });
  for (const [, namespace = "", pid = ""] of stdout.matchAll(/^(jp(\d+)-\S+)/gm)) {
    // Another test process may remove it at the same time.
    if (!existsSync(`/proc/${pid}`))
      await run("ip", ["netns", "delete", namespace], { timeout: commandDeadlineMs }).catch(() => undefined);
  }
}
