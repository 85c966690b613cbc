import * as client from "openid-client";
import type { Clock } from "#runtime/scheduling/clock.ts";
import { profileOfClaims, profileOfUserinfo, type Profile } from "./profile.ts";
import { requireProviderAddress, type ProviderConfig } from "./providerConfig.ts";
import type { CustomFetch } from "openid-client";
import type { SignInError } from "#contracts/http/auth.ts";

/** Timeout of each request to a provider. */
const requestSeconds = 5;
/** Lifetime of a provider's metadata, and the delay before a failed read is retried. */
const metadataMs = { used: 3600_000, retried: 60_000 };

/** The secrets that tie the provider's response to the request. */
interface Proof {
  state: string;
  /** Only with OpenID Connect. */
  nonce: string | undefined;
  verifier: string;
}

/** Parameters that a page may add to the provider's address, as the Auth.js client does. */
const extraParameters = ["prompt", "login_hint", "ui_locales", "display"] as const;

/**
 * One external provider. Its metadata is read on first use, so the API starts while a provider is
 * unavailable, and every sign-in retries a failed read.
 */
export class OAuthProvider {
  readonly #config: ProviderConfig;
  readonly #redirectUri: string;
  readonly #clock: Clock;
  #known: client.Configuration | undefined;
  #freshUntilMs = 0;
  #pending: Promise<client.Configuration> | undefined;

  constructor({ config, baseUrl, clock }: { config: ProviderConfig; baseUrl: string; clock: Clock }) {
    this.#config = config;
    this.#redirectUri = `${baseUrl}/api/auth/callback/${config.id}`;
    this.#clock = clock;
  }

  get id(): string {
    return this.#config.id;
  }

  get name(): string {
    return this.#config.name;
  }

  get type(): "oidc" | "oauth" {
    return this.#config.type;
  }

  get trustsEmail(): boolean {
    return this.#config.trustsEmail;
  }

  /** Whether the provider is reached by plain http on the loopback interface. */
  get allowsInsecure(): boolean {
    return this.#config.allowInsecure;
  }

  /**
   * Returns the issuer of the provider's identities for `isIssuer`. If it can differ from the configured
   * address, it comes from the metadata; undefined while these cannot be read. The next sign-in reports the
   * reason.
   */
  async issuer(): Promise<string | undefined> {
    if (!canIssuerDiffer(this.#config)) return this.#config.issuer;
    const configuration = await this.#client().catch(() => undefined);
    return configuration?.serverMetadata().issuer;
  }

  createProof(): Proof {
    return {
      state: client.randomState(),
      nonce: this.#config.type === "oidc" ? client.randomNonce() : undefined,
      verifier: client.randomPKCECodeVerifier(),
    };
  }

  /**
   * Returns the address for the sign-in in the browser.
   *
   * @throws OAuthSignin when the provider is unavailable
   */
  async authorizationUrl({ state, nonce, verifier }: Proof, requested: URLSearchParams): Promise<string> {
    try {
      const parameters = new URLSearchParams();
      for (const name of extraParameters) {
        const value = requested.get(name);
        if (value !== null) parameters.set(name, value.slice(0, 254));
      }
      if (this.#config.scopes.length > 0) parameters.set("scope", this.#config.scopes.join(" "));
      parameters.set("redirect_uri", this.#redirectUri);
      parameters.set("state", state);
      if (nonce !== undefined) parameters.set("nonce", nonce);
      parameters.set("code_challenge", await client.calculatePKCECodeChallenge(verifier));
      parameters.set("code_challenge_method", "S256");
      const url = client.buildAuthorizationUrl(await this.#client(), parameters);
      requireProviderAddress(url, this.#config);
      return url.href;
    } catch (cause) {
      throw new OAuthFailure("OAuthSignin", "The provider is unavailable.", cause);
    }
  }

  /**
   * Returns the profile of the user who came back with this query.
   *
   * @throws AccessDenied when the user declined, OAuthCallback for any invalid response
   */
  async profileOf(querystring: string, proof: Proof): Promise<Profile> {
    try {
      const url = new URL(this.#redirectUri);
      url.search = querystring;
      return await this.#redeem(await this.#client(), url, proof);
    } catch (cause) {
      const isDenied = cause instanceof client.AuthorizationResponseError && cause.error === "access_denied";
      throw new OAuthFailure(
        isDenied ? "AccessDenied" : "OAuthCallback",
        isDenied ? "The sign-in was declined." : "The provider's response was refused.",
        cause,
      );
    }
  }

  async #redeem(
    configuration: client.Configuration,
    url: URL,
    { state, nonce, verifier }: Proof,
  ): Promise<Profile> {
    const checks = { expectedState: state, pkceCodeVerifier: verifier };
    if (this.#config.type === "oauth") {
      const { userinfoEndpoint, emails } = this.#config;
      const { access_token: token } = await client.authorizationCodeGrant(configuration, url, checks);
      const userinfo = await readResource(configuration, token, userinfoEndpoint, "profile");
      const addresses =
        emails === undefined
          ? undefined
          : await readResource(configuration, token, emails.endpoint, "addresses");
      return profileOfUserinfo(this.#config, userinfo, addresses);
    }
    if (nonce === undefined) throw new TypeError("There is no nonce for this provider.");
    const tokens = await client.authorizationCodeGrant(configuration, url, {
      ...checks,
      expectedNonce: nonce,
      idTokenExpected: true,
    });
    const claims = tokens.claims();
    if (claims === undefined) throw new TypeError("There is no ID token.");
    const hasMore =
      claims["email"] === undefined && configuration.serverMetadata().userinfo_endpoint !== undefined;
    const more = hasMore ? await client.fetchUserInfo(configuration, tokens.access_token, claims.sub) : {};
    return profileOfClaims(claims.iss, { ...more, ...claims });
  }

  #client(): Promise<client.Configuration> {
    if (this.#known !== undefined && this.#clock.monotonicMs() < this.#freshUntilMs)
      return Promise.resolve(this.#known);
    this.#pending ??= this.#renew().finally(() => {
      this.#pending = undefined;
    });
    return this.#pending;
  }

  async #renew(): Promise<client.Configuration> {
    try {
      this.#known = await this.#load();
      this.#freshUntilMs = this.#clock.monotonicMs() + metadataMs.used;
    } catch (error) {
      if (this.#known === undefined) throw error;
      this.#freshUntilMs = this.#clock.monotonicMs() + metadataMs.retried;
    }
    return this.#known;
  }

  async #load(): Promise<client.Configuration> {
    const config = this.#config;
    const { clientId, allowInsecure } = config;
    const authentication = authenticationOf(config);
    const customFetch = createBoundedFetch({ allowInsecure });
    // The ID token's signature is verified although it comes directly from the provider, because a proxy may
    // not be trustworthy.
    const execute: ((configuration: client.Configuration) => void)[] = [];
    if (config.type === "oidc") execute.push(client.enableNonRepudiationChecks);
    // oxlint-disable-next-line typescript/no-deprecated -- marked so that it is not used by accident; ours is for the loopback
    if (allowInsecure) execute.push(client.allowInsecureRequests);
    if (config.type === "oidc") {
      return client.discovery(new URL(config.issuer), clientId, undefined, authentication, {
        timeout: requestSeconds,
        execute,
        [client.customFetch]: customFetch,
      });
    }
    const {
      responseIssuer = config.issuer,
      authorizationEndpoint: authorization_endpoint,
      tokenEndpoint: token_endpoint,
    } = config;
    const configuration = new client.Configuration(
      { issuer: responseIssuer, authorization_endpoint, token_endpoint },
      clientId,
      undefined,
      authentication,
    );
    configuration.timeout = requestSeconds;
    configuration[client.customFetch] = customFetch;
    for (const extension of execute) extension(configuration);
    return Promise.resolve(configuration);
  }
}

/**
 * Returns whether the tokens' issuer can differ from the configured address. openid-client does not compare
 * them when the address is that of the metadata document, nor for Microsoft's two services, whose issuers
 * contain a tenant's id.
 */
function canIssuerDiffer({ type, issuer }: ProviderConfig): boolean {
  if (type !== "oidc") return false;
  const { href, origin, hostname } = new URL(issuer);
  return (
    href.includes("/.well-known/") ||
    origin === "https://login.microsoftonline.com" ||
    hostname.endsWith(".b2clogin.com")
  );
}

async function readResource(
  configuration: client.Configuration,
  token: string,
  address: string,
  what: string,
): Promise<unknown> {
  const headers = new Headers({ accept: "application/json" });
  const response = await client.fetchProtectedResource(
    configuration,
    token,
    new URL(address),
    "GET",
    null,
    headers,
  );
  if (response.status !== 200)
    throw new TypeError(`The provider responded to the request for the ${what} with ${response.status}.`);
  return response.json();
}

function authenticationOf({ clientSecret, clientAuthentication }: ProviderConfig): client.ClientAuth {
  if (clientSecret === undefined) return client.None();
  return clientAuthentication === "basic"
    ? client.ClientSecretBasic(clientSecret)
    : client.ClientSecretPost(clientSecret);
}

/** Size limit of a provider's response: metadata, keys, tokens and profiles are all shorter. */
const bytesMax = 256 * 1024;

/**
 * Returns a `fetch` for providers, whose responses are untrusted input. It follows no redirects, limits the
 * body, and requires https, except for providers on the loopback interface that allow plain http.
 */
function createBoundedFetch({ allowInsecure }: { allowInsecure: boolean }): CustomFetch {
  return async (address, options) => {
    const url = new URL(address);
    requireProviderAddress(url, { allowInsecure });
    const response = await fetch(url, { ...options, body: options.body ?? null, redirect: "manual" });
    const body = await readAtMost(response, bytesMax);
    const { status, statusText, headers } = response;
    return new Response(body, { status, statusText, headers });
  };
}

/** Returns the body; null for an empty one, which some statuses require. */
async function readAtMost(response: Response, max: number): Promise<Uint8Array<ArrayBuffer> | null> {
  const stream: AsyncIterable<Uint8Array> | null = response.body;
  if (stream === null) return null;
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    // Leaving the loop cancels the stream and its connection.
    if (size > max) throw new TypeError(`A provider's response is larger than ${max} bytes.`);
    chunks.push(chunk);
  }
  return size === 0 ? null : new Uint8Array(Buffer.concat(chunks));
}

/** A failed sign-in at a provider. The browser gets only `reason`. */
export class OAuthFailure extends Error {
  override readonly name = "OAuthFailure";
  readonly reason: SignInError;
  /** E-mail address of the provider's account, if known. */
  readonly email: string | undefined;

  constructor(reason: SignInError, message: string, cause?: unknown, email?: string) {
    super(message, { cause });
    this.reason = reason;
    this.email = email;
  }
}

const lengthMax = 400;
/** Format of a provider's error code. Any other text may come from a crafted URL. */
const wordPattern = /^[a-z_]{1,40}$/;

/**
 * Returns the error's message for the log. The libraries' errors also contain responses and addresses with
 * secrets.
 */
export function describeError(error: unknown): string {
  const sentences: string[] = [];
  for (let cause = error; cause instanceof Error && sentences.length < 5; cause = cause.cause) {
    const word =
      "error" in cause && typeof cause.error === "string" && wordPattern.test(cause.error)
        ? ` (${cause.error})`
        : "";
    // The message quotes the unparsable text, which may be a token.
    sentences.push(cause instanceof SyntaxError ? "it is not JSON" : `${cause.message}${word}`);
  }
  return sentences
    .join(": ")
    .replaceAll(/[^\x20-\x7e]+/g, " ")
    .slice(0, lengthMax);
}
