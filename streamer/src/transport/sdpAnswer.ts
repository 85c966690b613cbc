/** Priority of a host candidate of the first component, as RFC 8445 computes it. */
const hostPriority = 2_122_317_823;

/**
 * Returns the SDP answer with one candidate instead of those gathered: the address and port where the node lets packets into this pod,
 * which the pod itself cannot see.
 */
export function announceAddress(sdp: string, address: string, port: number): string {
  const lines = sdp.split(/\r?\n/).filter((line) => line !== "" && !line.startsWith("a=candidate:") && line !== "a=end-of-candidates");
  const firstMedia = lines.findIndex((line) => line.startsWith("m="));
  const secondMedia = lines.findIndex((line, index) => index > firstMedia && line.startsWith("m="));
  const end = secondMedia === -1 ? lines.length : secondMedia; // all media share the first one's transport
  const candidate = `a=candidate:1 1 UDP ${hostPriority} ${address} ${port} typ host`;
  return [...lines.slice(0, end), candidate, "a=end-of-candidates", ...lines.slice(end)].join("\r\n") + "\r\n";
}
