import { createHmac } from "node:crypto";

/**
 * What a relay is told of the game nodes: the request's body, and its signature by the secret that both
 * share.
 */
export interface GameNodesNotice {
  body: string;
  headers: Record<string, string>;
}

/** Returns what tells a relay that it may reach these addresses, and no others. */
export function gameNodesNotice(addresses: readonly string[], secret: string, now: Date): GameNodesNotice {
  const body = JSON.stringify({
    at: Math.floor(now.getTime() / 1_000),
    addresses: [...new Set(addresses)].toSorted(),
  });
  const signature = createHmac("sha256", secret).update(`game-nodes\n${body}`).digest("hex");
  return { body, headers: { "content-type": "application/json", "x-joypod-signature": signature } };
}
