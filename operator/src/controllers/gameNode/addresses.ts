import { isIP } from "node:net";
import { announceAddressAnnotation } from "#contracts/crd/names.ts";
import type { Node } from "#kube/builtin.ts";
import type { NodeAddresses } from "../gameSession/placement.ts";

/** The IP addresses the node can be reached on; names are left out, as ICE candidates are addresses. */
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
