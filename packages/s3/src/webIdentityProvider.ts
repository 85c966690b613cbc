import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { IamAwsProvider } from "minio";
import { Credentials } from "minio/dist/esm/Credentials.mjs";
import { jittered } from "#runtime/scheduling/backOff.ts";
import { systemClock, type Clock } from "#runtime/scheduling/clock.ts";
import { WebIdentityError } from "./objectStoreFailure.ts";

/**
 * A program's identity: a token that the cluster renews, and the token service that exchanges it for
 * temporary keys.
 */
export interface WebIdentity {
  tokenFile: string;
  /** Undefined if the token itself carries the permissions. */
  role: string | undefined;
  /** Name of the keys' owner in the store's log. */
  roleSession: string;
  /** Address of the token service. */
  endpoint: string;
  /** CA certificates of the token service in PEM; undefined for public authorities. */
  authorities: string[] | undefined;
}

interface TemporaryKeys {
  credentials: Credentials;
  /** Postponed after a failure. */
  renewAtMs: number;
  /** Shortly before they expire, to leave time for requests in flight. */
  endMs: number;
}

/**
 * Time before expiry at which keys are renewed, so that a short outage of the token service has no effect. A
 * share of the lifetime for short-lived keys.
 */
const renewalLead = { msMax: 15 * 60_000, share: 0.25 };
/** Time before expiry after which keys are no longer used. */
const endLead = { msMax: 10_000, share: 0.1 };
/** Approximate delay before a retry while the keys are still valid. */
const retryMs = 5_000;

/**
 * Provides temporary keys for the object store client by AssumeRoleWithWebIdentity with the current token in
 * the file. Keys are renewed before they expire; if that fails, the old ones are used until then. Concurrent
 * callers share one request. The base class only supports the AWS token service, puts the token into a URL,
 * and does not report the reason of a rejection.
 */
export class WebIdentityProvider extends IamAwsProvider {
  readonly #identity: WebIdentity;
  readonly #clock: Clock;
  #keys: TemporaryKeys | undefined;
  #renewal: Promise<TemporaryKeys> | undefined;

  constructor(identity: WebIdentity, clock: Clock = systemClock) {
    super({});
    this.#identity = identity;
    this.#clock = clock;
  }

  /** Returns the keys. Throws WebIdentityError if there are no valid keys. */
  override async getCredentials(): Promise<Credentials> {
    const nowMs = this.#clock.now().getTime();
    const keys = this.#keys;
    const areUsable = keys !== undefined && nowMs < keys.endMs;
    if (areUsable && nowMs < keys.renewAtMs) return keys.credentials;
    const renewal = (this.#renewal ??= this.#renew().finally(() => (this.#renewal = undefined)));
    if (!areUsable) return (await renewal).credentials;
    renewal.catch(
      () => (keys.renewAtMs = this.#clock.now().getTime() + jittered(retryMs, Math.random, 0.25)),
    );
    return keys.credentials;
  }

  async #renew(): Promise<TemporaryKeys> {
    const { tokenFile, role, roleSession, endpoint, authorities } = this.#identity;
    const token = await readFile(tokenFile, "utf8").catch((cause: unknown) => {
      throw new WebIdentityError("NoToken", "The file of the web identity's token cannot be read.", cause);
    });
    const form = {
      Action: "AssumeRoleWithWebIdentity",
      Version: "2011-06-15",
      WebIdentityToken: token.trim(),
      ...(role !== undefined && { RoleArn: role }),
      RoleSessionName: roleSession,
    };
    const { status, text } = await postForm(endpoint, form, authorities).catch((cause: unknown) => {
      throw new WebIdentityError("Unreachable", "The token service could not be reached.", cause);
    });
    return (this.#keys = status === 200 ? this.#read(text) : refuse(status, text));
  }

  #read(text: string): TemporaryKeys {
    const [accessKey, secretKey, sessionToken] = [
      valueOf(text, "AccessKeyId"),
      valueOf(text, "SecretAccessKey"),
      valueOf(text, "SessionToken"),
    ];
    const endMs = Date.parse(valueOf(text, "Expiration") ?? "");
    if (
      accessKey === undefined ||
      secretKey === undefined ||
      sessionToken === undefined ||
      Number.isNaN(endMs)
    ) {
      throw new WebIdentityError("Refused", "The token service did not respond with temporary keys.");
    }
    const lifeMs = endMs - this.#clock.now().getTime();
    return {
      credentials: new Credentials({ accessKey, secretKey, sessionToken }),
      renewAtMs: endMs - Math.min(renewalLead.msMax, renewalLead.share * lifeMs),
      endMs: endMs - Math.min(endLead.msMax, endLead.share * lifeMs),
    };
  }
}

function refuse(status: number, text: string): never {
  const code = valueOf(text, "Code") ?? `status ${status}`;
  throw new WebIdentityError(
    "Refused",
    `The token service responded with ${code.slice(0, 64)}.`,
    undefined,
    code,
  );
}

/** Reads an element. The responses are flat, and their values contain no markup. */
function valueOf(xml: string, name: string): string | undefined {
  return new RegExp(`<${name}>([^<]+)</${name}>`).exec(xml)?.[1];
}

const timeoutMs = 10_000;
const responseBytesMax = 64 * 1024;

/**
 * Posts a form and returns the response with at most 64 KiB of its body. Throws if there is no response
 * within ten seconds. `authorities` are the CA certificates of the server; undefined for public authorities.
 */
async function postForm(
  url: string,
  form: Record<string, string>,
  authorities: string[] | undefined,
): Promise<{ status: number; text: string }> {
  const body = new URLSearchParams(form).toString();
  const options = {
    method: "POST",
    signal: AbortSignal.timeout(timeoutMs),
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      "content-length": String(Buffer.byteLength(body)),
    },
  };
  const request = url.startsWith("https:")
    ? httpsRequest(url, { ...options, ...(authorities !== undefined && { ca: authorities }) })
    : httpRequest(url, options);
  request.on("error", () => undefined); // The reader throws errors that occur while the response is read.
  request.end(body);
  const [response] = (await once(request, "response")) as [IncomingMessage];
  return { status: response.statusCode ?? 0, text: await readStart(response) };
}

async function readStart(response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    parts.push(part);
    bytes += part.length;
    if (bytes > responseBytesMax) break;
  }
  return Buffer.concat(parts).subarray(0, responseBytesMax).toString("utf8");
}
