/** `address` without what one subscriber can change at will: an IPv4 address as it is, an IPv6 one down to its /64. */
export function clientNetworkOf(address: string): string {
  const plain = plainAddress(address);
  return plain.includes(":") ? prefixOfV6(plain, 4) : plain;
}

/** /24 of IPv4, /48 of IPv6: enough to see a pattern, too little to name a person. */
export function ipPrefixOf(address: string): string {
  const plain = plainAddress(address);
  return plain.includes(":") ? prefixOfV6(plain, 3) : `${plain.split(".").slice(0, 3).join(".")}.0/24`;
}

/** Without its zone, and IPv4 in the clothes of IPv6 as what it is. */
function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, "").replace(/%.*$/, "");
}

/** The first groups of 16 bits, each written in one way only. */
function prefixOfV6(address: string, count: number): string {
  const [head = "", tail = ""] = address.split("::", 2);
  const left = head === "" ? [] : head.split(":");
  const right = tail === "" ? [] : tail.split(":");
  const groups = address.includes("::") ? [...left, ...Array<string>(Math.max(0, 8 - left.length - right.length)).fill("0"), ...right] : left;
  return `${groups.slice(0, count).map((group) => group.replace(/^0+(?=.)/, "").toLowerCase()).join(":")}::/${16 * count}`;
}
