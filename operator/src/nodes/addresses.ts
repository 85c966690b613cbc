import { isIP } from "node:net";
import { announceAddressAnnotation } from "#contracts/crd/names.ts";
import { limits } from "#contracts/limits.ts";
import type { Node } from "#kube/api/builtin.ts";
import type { Cluster } from "../cluster/cluster.ts";

/**
 * What a node says about the addresses that it can be reached on; of each kind there may be one of IPv4 and
 * one of IPv6, or more.
 */
export interface NodeAddresses {
  annotated: readonly string[];
  external: readonly string[];
  internal: readonly string[];
}

/**
 * Returns the IP addresses on which the node can be reached; host names are left out, as ICE candidates are
 * addresses.
 */
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
 * Returns the addresses that a stream on the node is announced on, the most likely first: the configured
 * ones, the annotation's, the external and the internal ones. The last are for players and relays in the
 * cluster's own network; which of all works, the browser finds out.
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
 * Returns the addresses that a stream on the node of this name is announced on; none where the cluster has no
 * such node.
 */
export function addressesOn(
  nodeName: string,
  { cluster, config }: { cluster: Pick<Cluster, "nodes">; config: { announceAddresses: readonly string[] } },
): string[] {
  const node = cluster.nodes.get(nodeName);
  return node ? announcedAddresses(config.announceAddresses, addressesOf(node)) : [];
}
