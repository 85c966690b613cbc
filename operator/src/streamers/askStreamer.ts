import { hkdfSync, randomBytes } from "node:crypto";
import { isIPv6 } from "node:net";
import { signalPort, StreamerStatus } from "#contracts/stream.ts";
import { signTicket, ticketPublicKeyOf, ticketSigningKey } from "#contracts/streamTicket.ts";
import { type Clock, systemClock } from "#runtime/scheduling/clock.ts";
import { withDeadline } from "#runtime/scheduling/deadline.ts";

/** A streamer that runs responds at once, and it is asked again soon. */
const timeoutMs = 1000;
/** Many times the size of a status. */
const maxResponseBytes = 16_384;

/** A streamer in its pod, and the ticket that it shows its status for. */
export interface AskedStreamer {
  podIp: string;
  ticket: string;
}

/**
 * Returns what the streamer says of itself: a claim, for a game may have broken into it. Throws when it does
 * not respond within a second.
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

/** Signs the operator's own tickets to streamers, which say how a stream is and nothing of whose it is. */
export interface OperatorTickets {
  /** The key that each session's pod gets: it checks these tickets and cannot sign any. */
  publicKey: string;
  /** Returns a ticket to the streamer of this session. */
  sign(gameSession: string): string;
}

/**
 * Returns what signs tickets with a key made of a secret that the operator's processes share. Without a
 * secret each process has a key of its own, which ends with the process.
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
