/**
 * Priorities of host candidates of the first component, as RFC 8445 computes them; earlier ones are tried
 * first.
 */
const bestPriority = 126 * 2 ** 24 + 65_535 * 2 ** 8 + 255;

/** Returns the SDP answer with a UDP candidate for each of these addresses, once each, on this port. */
export function withCandidates(sdp: string, addresses: readonly string[], port: number): string {
  const lines = sdp
    .split(/\r?\n/)
    .filter((line) => line !== "" && !/^a=(candidate:|end-of-candidates)/.test(line));
  const candidates = [...new Set(addresses)].map(
    (address, index) =>
      `a=candidate:${index + 1} 1 UDP ${bestPriority - index * 2 ** 8} ${address} ${port} typ host`,
  );
  // Data channels are the only media: the end of the text is their section.
  return [...lines, ...candidates, "a=end-of-candidates"].join("\r\n") + "\r\n";
}
