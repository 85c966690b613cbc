import { hkdfSync, randomBytes } from "node:crypto";
import { isIPv6 } from "node:net";
import { signalPort, StreamerStatus } from "#contracts/stream.ts";
import { signTicket, ticketPublicKeyOf, ticketSigningKey } from "#contracts/streamTicket.ts";
import { type Clock, systemClock } from "#runtime/scheduling/clock.ts";
import { withDeadline } from "#runtime/scheduling/deadline.ts";

/** A running streamer responds at once, and the request is repeated soon. */
const timeoutMs = 1000;
/** Many times the size of a status. */
const maxResponseBytes = 16_384;

/** A streamer's address, and the ticket that authorizes reading its status. */
export interface AskedStreamer {
  podIp: string;
  ticket: string;
}

/**
 * Returns the streamer's status, which is untrusted because a game may have compromised the streamer. Throws
 * if it does not respond within a second.
 */
export async function askStreamer(
  { podIp, ticket }: AskedStreamer,
  signal: AbortSignal,
): Promise<StreamerStatus> {
  const url = `http://${isIPv6(podIp) ? `[${podIp}]` : podIp}:${signalPort}/status`;
  return withDeadline(
    { clock: systemClock, ms: timeoutMs, what: "The streamer's response", signal },
    async (deadline) => {
      const response = await fetch(url, {
        headers: { authorization: `Bearer ${ticket}` },
        redirect: "error",
        signal: deadline,
      });
      return StreamerStatus.parse(JSON.parse(await readBounded(response)));
    },
  );
}

async function readBounded({ body }: Response): Promise<string> {
  if (body === null) return "";
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > maxResponseBytes) throw new Error("The streamer's status response is too long.");
  }
  return text;
}

const lifetimeSeconds = 60;

/** Signs the operator's tickets to streamers. They show the state of a stream but not whose it is. */
export interface OperatorTickets {
  /** The key in each session's pod. It verifies these tickets but cannot sign any. */
  publicKey: string;
  /** Returns a ticket to the streamer of this session. */
  sign(gameSession: string): string;
}

/**
 * Returns a signer of tickets with a key derived from the secret that the operator's processes share. Without
 * a secret each process generates its own key.
 */
export function createOperatorTickets(secret: Buffer | undefined, clock: Clock): OperatorTickets {
  const key = ticketSigningKey(
    Buffer.from(hkdfSync("sha256", secret ?? randomBytes(32), "", "joypod operator", 32)),
  );
  return {
    publicKey: ticketPublicKeyOf(key),
    sign(gameSession) {
      const iat = Math.floor(clock.now().getTime() / 1_000);
      return signTicket(
        { aud: gameSession, sub: "operator", role: "operate", iat, exp: iat + lifetimeSeconds },
        key,
      );
    },
  };
}
