/** Returns the network of one subscriber: an IPv4 address unchanged, an IPv6 address cut to its /64. */
export function clientNetworkOf(address: string): string {
  const plain = plainAddress(address);
  return plain.includes(":") ? prefixOfV6(plain, 4) : plain;
}

/**
 * Returns the address cut to its /24 (IPv4) or /48 (IPv6): enough to recognize a pattern, too little to
 * identify a person.
 */
export function ipPrefixOf(address: string): string {
  const plain = plainAddress(address);
  return plain.includes(":") ? prefixOfV6(plain, 3) : `${plain.split(".").slice(0, 3).join(".")}.0/24`;
}

/**
 * Returns the address without its zone and without the port that some proxies add. An IPv4-mapped IPv6
 * address becomes IPv4.
 */
function plainAddress(address: string): string {
  const host =
    /^\[([^\]]*)\](?::\d+)?$/.exec(address)?.[1] ?? address.replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, "$1");
  return host.replace(/^::ffff:(?=\d+\.)/i, "").replace(/%.*$/, "");
}

/** Returns the first 16-bit groups in a canonical form. */
function prefixOfV6(address: string, count: number): string {
  const [head = "", tail = ""] = address.split("::", 2);
  const left = head === "" ? [] : head.split(":");
  const right = tail === "" ? [] : tail.split(":");
  const groups = address.includes("::")
    ? [...left, ...Array<string>(Math.max(0, 8 - left.length - right.length)).fill("0"), ...right]
    : left;
  return `${groups
    .slice(0, count)
    .map((group) => group.replace(/^0+(?=.)/, "").toLowerCase())
    .join(":")}::/${16 * count}`;
}
