/**
 * Priority of the first host candidate, as RFC 8445 computes it; each further address has the next lower
 * local preference.
 */
const hostPriority = 2_122_317_823;
const localPreference = 256;

/**
 * Returns the SDP answer with a candidate for each address, the most likely one first, in place of those
 * gathered. The addresses and the port are those at which the node lets packets into this pod, which the pod
 * itself cannot see.
 */
export function announceAddresses(sdp: string, addresses: readonly string[], port: number): string {
  const lines = linesWithoutCandidates(sdp);
  const firstMedia = lines.findIndex((line) => line.startsWith("m="));
  const secondMedia = lines.findIndex((line, index) => index > firstMedia && line.startsWith("m="));
  const end = secondMedia === -1 ? lines.length : secondMedia; // all media share the first one's transport
  const candidates = addresses.map(
    (address, index) =>
      `a=candidate:${index + 1} 1 UDP ${hostPriority - index * localPreference} ${address} ${port} typ host`,
  );
  return (
    [...lines.slice(0, end), ...candidates, "a=end-of-candidates", ...lines.slice(end)].join("\r\n") + "\r\n"
  );
}

/** Returns the lines of a session description that name no candidates. */
export function linesWithoutCandidates(sdp: string): string[] {
  return sdp.split(/\r?\n/).filter((line) => line !== "" && !/^a=(candidate:|end-of-candidates)/.test(line));
}
