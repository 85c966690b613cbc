import { isIP } from "node:net";
import { announceAddressAnnotation } from "#contracts/crd/names.ts";
import { limits } from "#contracts/limits.ts";
import type { Node } from "#kube/api/builtin.ts";
import type { Cluster } from "../cluster/cluster.ts";

/** The addresses that a node reports. There may be several of each kind, for IPv4 and IPv6. */
export interface NodeAddresses {
  annotated: readonly string[];
  external: readonly string[];
  internal: readonly string[];
}

/** Returns the IP addresses of the node. Host names are left out, because ICE candidates are addresses. */
export function addressesOf(node: Node): NodeAddresses {
  const annotated = (node.metadata.annotations?.[announceAddressAnnotation] ?? "")
    .split(",")
    .map((part) => part.trim());
  const ofType = (type: string): string[] =>
    (node.status?.addresses ?? []).filter((entry) => entry.type === type).map(({ address }) => address);
  const isAddress = (text: string): boolean => isIP(text) !== 0;
  return {
    annotated: annotated.filter(isAddress),
    external: ofType("ExternalIP").filter(isAddress),
    internal: ofType("InternalIP").filter(isAddress),
  };
}

/**
 * Returns the addresses announced for streams on the node, most likely to work first: the configured ones,
 * the annotation's, the external and the internal ones. Internal addresses serve players and relays in the
 * cluster's network. The browser finds out which one works.
 */
export function announcedAddresses(
  configured: readonly string[],
  { annotated, external, internal }: NodeAddresses,
): string[] {
  return [...new Set([...configured, ...annotated, ...external, ...internal])].slice(
    0,
    limits.announcedAddresses,
  );
}

/**
 * Returns the addresses announced for streams on the node of this name. Empty if the cluster has no such
 * node.
 */
export function addressesOn(
  nodeName: string,
  { cluster, config }: { cluster: Pick<Cluster, "nodes">; config: { announceAddresses: readonly string[] } },
): string[] {
  const node = cluster.nodes.get(nodeName);
  return node ? announcedAddresses(config.announceAddresses, addressesOf(node)) : [];
}
