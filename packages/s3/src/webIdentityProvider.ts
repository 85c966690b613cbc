import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { IamAwsProvider } from "minio";
import { Credentials } from "minio/dist/esm/Credentials.mjs";
import { jittered } from "#runtime/scheduling/backOff.ts";
import { systemClock, type Clock } from "#runtime/scheduling/clock.ts";
import { WebIdentityError } from "./objectStoreFailure.ts";

/** Who a program is, by a token that its cluster renews, and where it exchanges that for temporary keys. */
export interface WebIdentity {
  tokenFile: string;
  /** Undefined where the token itself says what it may do. */
  role: string | undefined;
  /** Name of the keys' owner in the store's own log. */
  roleSession: string;
  /** Address of the token service. */
  endpoint: string;
  /** Of its certificate, in PEM; undefined trusts the public ones. */
  authorities: string[] | undefined;
}

interface TemporaryKeys {
  credentials: Credentials;
  /** Put off when that failed. */
  renewAtMs: number;
  /** A moment before their end, for what is on its way then. */
  endMs: number;
}

/**
 * How long before their end keys are renewed: a token service that is unavailable for a while is no outage.
 * Of keys with a short life, that share of it.
 */
const renewalLead = { msMax: 15 * 60_000, share: 0.25 };
/** How long before their end they are used for the last time. */
const endLead = { msMax: 10_000, share: 0.1 };
/** After a failure, about how long until the token service is asked again while the keys still work. */
const retryMs = 5_000;

/**
 * Temporary keys for the object store's client: by AssumeRoleWithWebIdentity, with the token that is in the
 * file at that moment. They are renewed before they end; while that fails the old ones go on. Callers that
 * come meanwhile wait for one and the same response. The class that it extends asks AWS' own token service
 * alone, puts the token into an address, and does not say what it is refused for.
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

  /** Throws WebIdentityError when there are no keys that still work. */
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
      throw new WebIdentityError("Refused", "The token service answered something else than temporary keys.");
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
  throw new WebIdentityError("Refused", `The token service answered ${code.slice(0, 64)}.`, undefined, code);
}

/** The responses are flat, and their values hold no markup. */
function valueOf(xml: string, name: string): string | undefined {
  return new RegExp(`<${name}>([^<]+)</${name}>`).exec(xml)?.[1];
}

const timeoutMs = 10_000;
const responseBytesMax = 64 * 1024;

/**
 * Posts a form and returns the response, whose body is cut at 64 KiB. Throws when there is none within ten
 * seconds. `authorities` sign the server's certificate; undefined trusts the public ones.
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
  request.on("error", () => undefined); // What breaks while the response is read, its reader throws.
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
