import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import type { KeyObject } from "node:crypto";
import { Agent } from "undici";
import { connectionTest, TestSdpAnswer } from "#contracts/connectionTest.ts";
import { errors } from "#contracts/http/errors.ts";
import { limits } from "#contracts/limits.ts";
import { whep, WhepError } from "#contracts/stream.ts";
import { signTicket } from "#contracts/streamTicket.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import { withTimeout } from "#runtime/scheduling/deadline.ts";

/** A responder in the cluster responds within milliseconds, one on a lost node never. */
const requestDeadlineMs = 2_500;
const lookupDeadlineMs = 2_500;
const maxResponseBytes = 2 * whep.maxOfferBytes;
/** Maximum number of responders asked per test, each on another node. */
const maxAttempts = 3;

/** Address of the responders and the key that signs tickets for them. */
export interface TestRespondersConfig {
  /**
   * A host name that resolves to all ready responders, such as that of a headless service, and their port.
   */
  url: string;
  signingKey: KeyObject;
}

/**
 * Outcome of an offer: answered, refused as invalid, or unanswered because no responder is present or all are
 * busy.
 */
export type TestOutcome =
  | { sdpAnswer: TestSdpAnswer }
  | { refused: "offer"; message: string }
  | { refused: "busy" | "absent"; cause?: unknown };

/** Forwards connection test offers to the responders on game nodes, with a ticket for the player. */
export class TestResponders {
  readonly #config: TestRespondersConfig;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #dispatcher = new Agent({
    connections: 2,
    keepAliveTimeout: 1_000,
    connect: { timeout: requestDeadlineMs },
    headersTimeout: requestDeadlineMs,
    bodyTimeout: requestDeadlineMs,
    maxResponseSize: maxResponseBytes,
  });

  constructor(config: TestRespondersConfig, clock: Clock, random: () => number = Math.random) {
    this.#config = config;
    this.#clock = clock;
    this.#random = random;
  }

  /** Asks up to three responders on different nodes in random order, until one answers. */
  async ask(offer: string, userId: string): Promise<TestOutcome> {
    const addresses = await this.#addresses();
    let outcome: TestOutcome = { refused: "absent" };
    for (const address of addresses.slice(0, maxAttempts)) {
      const next = await this.#post(address, offer, this.#ticket(userId)).catch(
        (cause: unknown): TestOutcome => ({ refused: "absent", cause }),
      );
      if ("sdpAnswer" in next || next.refused === "offer") return next;
      if (next.refused === "busy" || outcome.refused !== "busy") outcome = next;
    }
    return outcome;
  }

  async close(): Promise<void> {
    await this.#dispatcher.close();
  }

  async #addresses(): Promise<string[]> {
    const { hostname } = new URL(this.#config.url);
    const name = hostname.replace(/^\[|\]$/g, "");
    if (isIP(name) !== 0) return [name];
    try {
      const found = await withTimeout(
        lookup(name, { all: true }),
        lookupDeadlineMs,
        "The look-up of the responders",
      );
      return found
        .map(({ address }) => ({ address, place: this.#random() }))
        .sort((a, b) => a.place - b.place)
        .map(({ address }) => address);
    } catch {
      return []; // Without a ready responder the name does not resolve.
    }
  }

  #ticket(userId: string): string {
    const iat = Math.floor(this.#clock.now().getTime() / 1_000);
    return signTicket(
      {
        aud: connectionTest.audience,
        sub: userId,
        role: "play",
        iat,
        exp: iat + limits.streamTicket.proxyLifetimeSeconds,
      },
      this.#config.signingKey,
    );
  }

  async #post(address: string, offer: string, ticket: string): Promise<TestOutcome> {
    const { port } = new URL(this.#config.url);
    const { statusCode, body } = await this.#dispatcher.request({
      origin: `http://${address.includes(":") ? `[${address}]` : address}:${port}`,
      method: "POST",
      path: connectionTest.path,
      body: offer,
      headers: { "content-type": whep.contentType, authorization: `Bearer ${ticket}` },
      signal: AbortSignal.timeout(requestDeadlineMs),
    });
    const json: unknown = await body.json();
    if (statusCode === 201) return { sdpAnswer: TestSdpAnswer.parse(json) };
    if (statusCode === errors.not_ready.status) return { refused: "busy" };
    const errorResponse = WhepError.safeParse(json).data;
    if (errorResponse?.error === "invalid_offer")
      return { refused: "offer", message: errorResponse.message.slice(0, 500) };
    throw new Error(`A responder answered with status ${statusCode}.`);
  }
}
