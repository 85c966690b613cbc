import { isIP } from "node:net";
import { announceAddressAnnotation } from "#contracts/crd/names.ts";
import type { Node } from "#kube/builtin.ts";

/** What a node says about the addresses browsers can reach it on. */
export interface NodeAddresses {
  annotated: string | undefined;
  external: string | undefined;
  internal: string | undefined;
}

/** Returns the IP addresses on which the node can be reached; host names are left out, as ICE candidates are addresses. */
export function addressesOf(node: Node): NodeAddresses {
  const annotated = node.metadata.annotations?.[announceAddressAnnotation];
  const ofType = (type: string): string | undefined =>
    node.status?.addresses?.find((address) => address.type === type && isIP(address.address) !== 0)?.address;
  return {
    annotated: annotated !== undefined && isIP(annotated) !== 0 ? annotated : undefined,
    external: ofType("ExternalIP"),
    internal: ofType("InternalIP"),
  };
}
