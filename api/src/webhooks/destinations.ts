import { Resolver } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import type { Readable } from "node:stream";
import { Client } from "undici";
import { limits } from "#contracts/limits.ts";
import { toError } from "#runtime/errors.ts";
import { printableText } from "#runtime/printableText.ts";
import { invalidRequest, type DomainError } from "../errors.ts";
import { isAllowedAddress, type AddressRule } from "./addresses.ts";

const { webhook } = limits;
/** When a host has several addresses, the next one is tried after this time. */
const addressAttemptMs = 2_000;

/** Settings of the way out. */
export interface DestinationConfig extends AddressRule {
  /** Whether http addresses are accepted, which anybody on the way can read. */
  isHttpAllowed: boolean;
  /** Nameservers as `address:port`; empty for those of the system. */
  nameservers: readonly string[];
}

/** A response to a delivery. */
export interface WebhookResponse {
  status: number;
  /** The start of the body. */
  text: string;
}

/** An address that webhooks must not reach, or a name without an address. The message is for the partner. */
export class DestinationRefused extends Error {
  override readonly name = "DestinationRefused";
}

/** The addresses that webhooks are sent to: decides which are allowed, and connects to them. */
export class WebhookDestinations {
  readonly #config: DestinationConfig;
  readonly #attemptMs: number;
  readonly #resolver = new Resolver({ timeout: 2_000, tries: 2 });

  constructor(config: DestinationConfig, attemptMs = webhook.attemptSeconds * 1000) {
    this.#config = config;
    this.#attemptMs = attemptMs;
    if (config.nameservers.length > 0) this.#resolver.setServers(config.nameservers);
  }

  /** Checks an address before it is stored. @throws invalid_request */
  async check(text: string): Promise<void> {
    const { hostname, protocol, username, password, hash } = parseUrl(text);
    if (protocol !== "https:" && !(protocol === "http:" && this.#config.isHttpAllowed))
      throw invalidUrl("must be an https address");
    if (username !== "" || password !== "" || hash !== "")
      throw invalidUrl("must have neither credentials nor a fragment");
    await this.#resolve(hostOf(hostname)).catch((error: unknown) => {
      throw error instanceof DestinationRefused ? invalidUrl(error.message) : error;
    });
  }

  /**
   * Sends a body and returns the response. Redirects are not followed. The addresses of the host are resolved
   * once and checked, and the connection goes to one of them, so a name that changes meanwhile leads nowhere
   * else.
   *
   * @throws DestinationRefused, or the error of the connection
   */
  async post(
    text: string,
    headers: Readonly<Record<string, string>>,
    body: string,
  ): Promise<WebhookResponse> {
    const { origin, protocol, hostname, pathname, search } = new URL(text);
    if (protocol === "http:" && !this.#config.isHttpAllowed)
      throw new DestinationRefused("must be an https address");
    // Sockets do not look up a host that is an address already.
    if (isIP(hostOf(hostname)) !== 0) await this.#resolve(hostOf(hostname));
    const attemptMs = this.#attemptMs;
    const client = new Client(origin, {
      allowH2: false,
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: addressAttemptMs,
      connect: { lookup: this.#lookup, timeout: attemptMs },
      headersTimeout: attemptMs,
      bodyTimeout: attemptMs,
    });
    try {
      const { statusCode, body: answer } = await client.request({
        method: "POST",
        path: pathname + search,
        headers,
        body,
        signal: AbortSignal.timeout(attemptMs),
      });
      return { status: statusCode, text: printableText(await readStart(answer, webhook.responseBytes)) };
    } finally {
      await client.destroy();
    }
  }

  readonly #lookup: LookupFunction = (hostname, { all }, callback) => {
    this.#resolve(hostname).then(
      (addresses) => {
        const [first = ""] = addresses;
        if (all === true)
          callback(
            null,
            addresses.map((address) => ({ address, family: isIP(address) })),
          );
        else callback(null, first, isIP(first));
      },
      (error: unknown) => callback(toError(error), ""),
    );
  };

  /** Returns the addresses of a host, IPv4 first, if all are allowed. @throws DestinationRefused */
  async #resolve(host: string): Promise<string[]> {
    const addresses = isIP(host) === 0 ? await this.#addressesOf(host) : [host];
    if (addresses.length === 0) throw new DestinationRefused("must have a host name that resolves");
    if (!addresses.every((address) => isAllowedAddress(address, this.#config)))
      throw new DestinationRefused("must have a host with a public address");
    return addresses;
  }

  async #addressesOf(host: string): Promise<string[]> {
    const found = await Promise.allSettled([this.#resolver.resolve4(host), this.#resolver.resolve6(host)]);
    return found.flatMap((result) => (result.status === "fulfilled" ? result.value : []));
  }
}

/** Returns a sentence for the partner about a failed attempt. */
export function attemptFailureOf(error: unknown): string {
  for (const cause of causesOf(error)) {
    if (cause instanceof DestinationRefused) return `The address ${cause.message}.`;
    if (cause.name === "TimeoutError" || /TIMEOUT|ETIMEDOUT/.test(cause.code ?? ""))
      return `There was no response within ${webhook.attemptSeconds} seconds.`;
    if (/CERT|TLS|SSL|SELF_SIGNED|ISSUER|SIGNATURE/.test(cause.code ?? ""))
      return `The TLS connection failed (${cause.code}).`;
    if (/^(E[A-Z]+|UND_ERR_\w+|HPE_\w+)$/.test(cause.code ?? ""))
      return `The connection failed (${cause.code}).`;
  }
  return "The connection failed.";
}

function* causesOf(error: unknown): Generator<Error & { code?: string }> {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; depth += 1) {
    yield cause;
    cause = cause instanceof AggregateError ? cause.errors[0] : cause.cause;
  }
}

/** Reads at most `max` bytes. A body that breaks off or stalls does not change what the status says. */
async function readStart(body: Readable, max: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
      if (size >= max) break;
    }
  } catch {
    // What has arrived is shown.
  }
  return Buffer.concat(chunks).subarray(0, max);
}

function parseUrl(text: string): URL {
  if (!URL.canParse(text)) throw invalidUrl("must be an https address");
  return new URL(text);
}

/** Returns the host without the brackets of IPv6. */
function hostOf(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, "");
}

function invalidUrl(message: string): DomainError {
  return invalidRequest(`The address of the webhook is not valid: it ${message}.`, [
    { path: "url", message },
  ]);
}
