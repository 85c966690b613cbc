import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey } from "jose";

/** Claims of a token. */
export interface TokenClaims {
  audience: string;
  lifeSeconds?: number;
  subject?: string;
  /** Additional claims, such as the policy that MinIO reads from the token. */
  claims?: Record<string, string>;
}

/** An OpenID issuer like that of a cluster's service accounts: publishes its keys and has no sign-in. */
export class TokenIssuer {
  readonly url: string;
  readonly #server: Server;
  readonly #privateKey: CryptoKey;

  private constructor(url: string, server: Server, privateKey: CryptoKey) {
    this.url = url;
    this.#server = server;
    this.#privateKey = privateKey;
  }

  static async start(): Promise<TokenIssuer> {
    const { privateKey, publicKey } = await generateKeyPair("RS256");
    const keys = { keys: [{ ...(await exportJWK(publicKey)), kid: "first", use: "sig", alg: "RS256" }] };
    const server = createServer((request, response) => {
      const { port } = server.address() as AddressInfo;
      const url = `http://127.0.0.1:${port}`;
      const configuration = {
        issuer: url,
        jwks_uri: `${url}/keys`,
        authorization_endpoint: `${url}/none`,
        token_endpoint: `${url}/none`,
        response_types_supported: ["id_token"],
        subject_types_supported: ["public"],
        id_token_signing_alg_values_supported: ["RS256"],
      };
      response
        .setHeader("content-type", "application/json")
        .end(JSON.stringify(request.url === "/keys" ? keys : configuration));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return new TokenIssuer(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, server, privateKey);
  }

  /** Returns a signed token of this issuer. */
  async token({
    audience,
    lifeSeconds = 3600,
    subject = "system:serviceaccount:joypod:joypod-api",
    claims = {},
  }: TokenClaims): Promise<string> {
    const nowSeconds = Math.floor(Date.now() / 1000);
    return new SignJWT(claims)
      .setProtectedHeader({ alg: "RS256", kid: "first" })
      .setIssuer(this.url)
      .setSubject(subject)
      .setAudience(audience)
      .setIssuedAt(nowSeconds)
      .setExpirationTime(nowSeconds + lifeSeconds)
      .sign(this.#privateKey);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
