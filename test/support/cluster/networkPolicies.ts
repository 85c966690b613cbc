import { BlockList, isIPv6 } from "node:net";

type Labels = Record<string, string>;
type Direction = "Ingress" | "Egress";
type Protocol = "TCP" | "UDP" | "SCTP";

interface Selector {
  matchLabels?: Labels;
  matchExpressions?: { key: string; operator: string; values?: string[] }[];
}

interface Peer {
  podSelector?: Selector;
  namespaceSelector?: Selector;
  ipBlock?: { cidr: string; except?: string[] };
}

interface Rule {
  ports?: { protocol?: Protocol; port?: number | string; endPort?: number }[];
  from?: Peer[];
  to?: Peer[];
}

/** A rendered NetworkPolicy. */
export interface NetworkPolicy {
  metadata: { name: string; namespace?: string };
  spec: { podSelector: Selector; policyTypes?: Direction[]; ingress?: Rule[] | null; egress?: Rule[] | null };
}

/** A pod or any other address: a node, a cloud service, a browser. */
export interface NetworkEnd {
  ip: string;
  pod?: { namespace: string; labels: Labels };
}

export interface Connection {
  from: NetworkEnd;
  to: NetworkEnd;
  protocol?: Protocol;
  port: number;
}

/**
 * Evaluates NetworkPolicies as specified in the API reference. If that leaves a choice, allows more: address
 * blocks also match pods.
 */
export class NetworkPolicies {
  readonly #policies: readonly NetworkPolicy[];
  readonly #defaultNamespace: string;

  /** `defaultNamespace` is the namespace of manifests without one, which clients put into the release's. */
  constructor(policies: readonly NetworkPolicy[], defaultNamespace: string) {
    this.#policies = policies;
    this.#defaultNamespace = defaultNamespace;
  }

  /**
   * Returns the same policies without the one of that name.
   *
   * @throws If there is none.
   */
  without(name: string): NetworkPolicies {
    const others = this.#policies.filter(({ metadata }) => metadata.name !== name);
    if (others.length === this.#policies.length) throw new Error(`There is no policy ${name}.`);
    return new NetworkPolicies(others, this.#defaultNamespace);
  }

  /** Returns true if the policies of both ends allow the connection. */
  allow({ from, to, protocol = "TCP", port }: Connection): boolean {
    return (
      this.#lets("Egress", from, to, { protocol, port }) &&
      this.#lets("Ingress", to, from, { protocol, port })
    );
  }

  /**
   * Returns true if no policy of this direction selects the pod, or if any rule of a policy that does
   * matches.
   */
  #lets(
    direction: Direction,
    self: NetworkEnd,
    other: NetworkEnd,
    port: { protocol: Protocol; port: number },
  ): boolean {
    const { pod } = self;
    if (pod === undefined) return true;
    const selecting = this.#policies.filter(
      (policy) =>
        this.#namespaceOf(policy) === pod.namespace &&
        typesOf(policy).includes(direction) &&
        matches(policy.spec.podSelector, pod.labels),
    );
    if (selecting.length === 0) return true;
    return selecting.some((policy) =>
      (direction === "Ingress" ? (policy.spec.ingress ?? []) : (policy.spec.egress ?? [])).some((rule) => {
        const peers = (direction === "Ingress" ? rule.from : rule.to) ?? [];
        return (
          isPortOf(rule, port) &&
          (peers.length === 0 || peers.some((peer) => isPeer(peer, other, this.#namespaceOf(policy))))
        );
      }),
    );
  }

  #namespaceOf({ metadata }: NetworkPolicy): string {
    return metadata.namespace ?? this.#defaultNamespace;
  }
}

function typesOf({ spec }: NetworkPolicy): Direction[] {
  return spec.policyTypes ?? (spec.egress === undefined ? ["Ingress"] : ["Ingress", "Egress"]);
}

function isPortOf({ ports = [] }: Rule, wanted: { protocol: Protocol; port: number }): boolean {
  return (
    ports.length === 0 ||
    ports.some(({ protocol = "TCP", port, endPort }) => {
      if (typeof port === "string") throw new Error(`Ports by name are not evaluated: ${port}`);
      return (
        protocol === wanted.protocol &&
        (port === undefined || (wanted.port >= port && wanted.port <= (endPort ?? port)))
      );
    })
  );
}

function isPeer(
  { podSelector, namespaceSelector, ipBlock }: Peer,
  { ip, pod }: NetworkEnd,
  ownNamespace: string,
): boolean {
  if (ipBlock !== undefined)
    return isWithin(ip, ipBlock.cidr) && !(ipBlock.except ?? []).some((range) => isWithin(ip, range));
  if (pod === undefined) return false;
  const isNamespace =
    namespaceSelector === undefined
      ? pod.namespace === ownNamespace
      : matches(namespaceSelector, { "kubernetes.io/metadata.name": pod.namespace });
  return isNamespace && matches(podSelector ?? {}, pod.labels);
}

function matches({ matchLabels = {}, matchExpressions = [] }: Selector, labels: Labels): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = labels[key];
      switch (operator) {
        case "In":
          return value !== undefined && values.includes(value);
        case "NotIn":
          return value === undefined || !values.includes(value);
        case "Exists":
          return value !== undefined;
        case "DoesNotExist":
          return value === undefined;
        default:
          throw new Error(`There is no operator ${operator}.`);
      }
    })
  );
}

function isWithin(ip: string, cidr: string): boolean {
  const [network = "", prefix = ""] = cidr.split("/");
  if (isIPv6(ip) !== isIPv6(network)) return false;
  const list = new BlockList();
  const family = isIPv6(ip) ? "ipv6" : "ipv4";
  list.addSubnet(network, Number(prefix), family);
  return list.check(ip, family);
}
