import ipaddr from "ipaddr.js";

/** A range of addresses: its first address and the length of the prefix. */
export type Network = [ipaddr.IPv4 | ipaddr.IPv6, number];

/** Which addresses webhooks may reach, besides public ones. */
export interface AddressRule {
  allowed: readonly Network[];
  /** Addresses that are refused although they are public, such as the cluster's own. */
  denied: readonly Network[];
}

/** Parses a range such as 10.0.0.0/8, or an address alone. @throws for any other text */
export function parseNetwork(text: string): Network {
  if (text.includes("/")) return ipaddr.parseCIDR(text);
  const address = ipaddr.parse(text);
  return [address, address.kind() === "ipv4" ? 32 : 128];
}

/** The public part of IPv6; the rest is local, reserved or translated. */
const globalUnicast = ipaddr.parseCIDR("2000::/3");

/**
 * Returns whether webhooks may connect to the address. Loopback, private, link-local and multicast addresses,
 * those that are translated to others (NAT64, 6to4, Teredo) and reserved ones are refused unless the site
 * allows them. An IPv4-mapped address counts as the IPv4 address.
 */
export function isAllowedAddress(text: string, { allowed, denied }: AddressRule): boolean {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.process(text);
  if (allowed.some((network) => isWithin(address, network))) return true;
  if (address.range() !== "unicast" || denied.some((network) => isWithin(address, network))) return false;
  return address.kind() === "ipv4" || isWithin(address, globalUnicast);
}

function isWithin(address: ipaddr.IPv4 | ipaddr.IPv6, [first, prefix]: Network): boolean {
  return address.kind() === first.kind() && address.match(first, prefix);
}
