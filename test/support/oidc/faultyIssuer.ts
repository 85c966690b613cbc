import { createHmac, generateKeyPairSync, type KeyObject } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import jsonwebtoken from "jsonwebtoken";

type Claims = Record<string, unknown>;

/** What the issuer does wrong. If empty, it is a correct provider. */
export interface Misbehaviour {
  /** Overrides of its metadata. */
  metadata?: Claims;
  /** Overrides of the correct claims; undefined removes one. */
  claims?: Claims;
  /** Creates the token instead of a correct signature. */
  sign?: (claims: Claims) => string | undefined;
  /** Responds to the code exchange instead of returning tokens. */
  token?: (response: ServerResponse) => void;
  /** The `iss` parameter of the redirect, instead of the issuer; null omits it. */
  iss?: string | null;
  userinfo?: unknown;
  /**
   * The account's addresses in the format of GitHub's `/user/emails`, returned for its access token.
   * Undefined disables that endpoint.
   */
  emails?: unknown;
}

const keyId = "key-1";

/**
 * An issuer without sign-in pages that misbehaves as configured, to test that the API rejects invalid
 * responses.
 */
export class FaultyIssuer {
  misbehaviour: Misbehaviour = {};
  /** Paths of requests. */
  readonly requests: string[] = [];
  /** Parameters of the last authorization request. */
  visit = new URLSearchParams();
  /** Parameters of the last code exchange. */
  exchange: URLSearchParams | undefined;
  /** Tokens issued for the last redeemed code. */
  tokens: { access_token: string; refresh_token: string; id_token: string | undefined } | undefined;
  readonly #server: Server;
  readonly #keys = generateKeyPairSync("ec", { namedCurve: "P-256" });

  private constructor() {
    this.#server = createServer((request, response) => void this.#respond(request, response));
  }

  static async start(port = 0): Promise<FaultyIssuer> {
    const issuer = new FaultyIssuer();
    await new Promise<void>((resolve) => issuer.#server.listen(port, "127.0.0.1", resolve));
    return issuer;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Signs like the issuer. */
  sign(claims: Claims, { key = this.#keys.privateKey }: { key?: KeyObject } = {}): string {
    return jsonwebtoken.sign(claims, key, { algorithm: "ES256", keyid: keyId });
  }

  /** Returns an unsigned token, or one signed with the given shared secret. */
  forge(claims: Claims, algorithm: "none" | "HS256", secret: string | Buffer = ""): string {
    const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
    const signed = `${encode({ alg: algorithm, typ: "JWT", kid: keyId })}.${encode(claims)}`;
    return `${signed}.${algorithm === "none" ? "" : createHmac("sha256", secret).update(signed).digest("base64url")}`;
  }

  get publicKeyPem(): string {
    return this.#keys.publicKey.export({ format: "pem", type: "spki" }).toString();
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", this.url);
    this.requests.push(url.pathname);
    const handlers: Record<string, () => void> = {
      "/.well-known/openid-configuration": () => respondWithJson(response, this.#metadata()),
      "/jwks": () =>
        respondWithJson(response, {
          keys: [{ ...this.#keys.publicKey.export({ format: "jwk" }), kid: keyId, use: "sig", alg: "ES256" }],
        }),
      "/authorize": () => this.#sendBack(url.searchParams, response),
      "/token": () => this.#respondWithTokens(response),
      "/user/emails": () => {
        const { emails } = this.misbehaviour;
        if (emails === undefined || request.headers.authorization !== `Bearer ${this.tokens?.access_token}`)
          response.writeHead(404).end();
        else respondWithJson(response, emails);
      },
      "/userinfo": () => respondWithJson(response, this.misbehaviour.userinfo ?? this.#claims()),
    };
    if (url.pathname === "/token") this.exchange = new URLSearchParams(await text(request));
    const handler = handlers[url.pathname];
    if (handler === undefined) response.writeHead(404).end();
    else handler();
  }

  #metadata(): Claims {
    const { url } = this;
    return {
      issuer: url,
      authorization_endpoint: `${url}/authorize`,
      token_endpoint: `${url}/token`,
      jwks_uri: `${url}/jwks`,
      userinfo_endpoint: `${url}/userinfo`,
      response_types_supported: ["code"],
      id_token_signing_alg_values_supported: ["ES256"],
      authorization_response_iss_parameter_supported: true,
      ...this.misbehaviour.metadata,
    };
  }

  #sendBack(query: URLSearchParams, response: ServerResponse): void {
    this.visit = query;
    const back = new URL(query.get("redirect_uri") ?? "");
    back.searchParams.set("code", "a-code");
    back.searchParams.set("state", query.get("state") ?? "");
    const { iss = this.url } = this.misbehaviour;
    if (iss !== null) back.searchParams.set("iss", iss);
    response.writeHead(302, { location: back.href }).end();
  }

  #respondWithTokens(response: ServerResponse): void {
    const { token, sign = (claims: Claims) => this.sign(claims) } = this.misbehaviour;
    if (token !== undefined) token(response);
    else {
      this.tokens = {
        access_token: "an-access-token",
        refresh_token: "a-refresh-token",
        id_token: sign(this.#claims()),
      };
      respondWithJson(response, { ...this.tokens, token_type: "Bearer", expires_in: 60 });
    }
  }

  #claims(): Claims {
    const now = Math.floor(Date.now() / 1000);
    const claims: Claims = {
      iss: this.url,
      aud: "joypod",
      sub: "faulty-1",
      iat: now,
      exp: now + 60,
      nonce: this.visit.get("nonce") ?? "",
      email: "faulty@example.test",
      email_verified: true,
      name: "Faulty",
      ...this.misbehaviour.claims,
    };
    return Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== undefined));
  }
}

export function respondWithJson(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
}
