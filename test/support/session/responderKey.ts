import { randomBytes, type KeyObject } from "node:crypto";
import { ticketPublicKeyOf, ticketSigningKey } from "#contracts/streamTicket.ts";

/**
 * A new key of connection tests: what its API is configured with, and the responder that takes its tickets.
 */
export interface ResponderKey {
  signingKey: KeyObject;
  apiEnv: { CONNECTION_TEST_SIGNING_KEY: string };
  responderEnv: { TICKET_PUBLIC_KEY: string };
}

/** Makes such a key. */
export function responderKey(): ResponderKey {
  const seed = randomBytes(32);
  const signingKey = ticketSigningKey(seed);
  return {
    signingKey,
    apiEnv: { CONNECTION_TEST_SIGNING_KEY: seed.toString("base64") },
    responderEnv: { TICKET_PUBLIC_KEY: ticketPublicKeyOf(signingKey) },
  };
}
