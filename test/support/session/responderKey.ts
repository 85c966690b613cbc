import { randomBytes, type KeyObject } from "node:crypto";
import { ticketPublicKeyOf, ticketSigningKey } from "#contracts/streamTicket.ts";

/** A new key for connection tests: the API's configuration, and the responder that accepts its tickets. */
export interface ResponderKey {
  signingKey: KeyObject;
  apiEnv: { CONNECTION_TEST_SIGNING_KEY: string };
  responderEnv: { TICKET_PUBLIC_KEY: string };
}

/** Creates such a key. */
export function responderKey(): ResponderKey {
  const seed = randomBytes(32);
  const signingKey = ticketSigningKey(seed);
  return {
    signingKey,
    apiEnv: { CONNECTION_TEST_SIGNING_KEY: seed.toString("base64") },
    responderEnv: { TICKET_PUBLIC_KEY: ticketPublicKeyOf(signingKey) },
  };
}
