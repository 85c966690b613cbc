import { generateKeyPairSync, randomBytes } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import Provider from "oidc-provider";

export const clientId = "joypod";
export const clientSecret = "a secret of the tests, shared with the provider";

/** An account at the provider. Entering its name signs in. */
export interface ProviderAccount {
  email?: string;
  email_verified?: boolean;
  name?: string;
  picture?: string;
}

/** A certified OpenID provider on the loopback address, with pages for sign-in and consent. */
export class IdentityProvider {
  readonly issuer: string;
  readonly #server: Server;

  private constructor(issuer: string, server: Server) {
    this.issuer = issuer;
    this.#server = server;
  }

  static async start({
    port,
    redirectUris,
    accounts,
  }: {
    port: number;
    redirectUris: string[];
    accounts: Record<string, ProviderAccount>;
  }): Promise<IdentityProvider> {
    const issuer = `http://127.0.0.1:${port}`;
    const signing = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" });
    const provider = new Provider(issuer, {
      clients: [
        {
          client_id: clientId,
          client_secret: clientSecret,
          redirect_uris: redirectUris,
          response_types: ["code"],
          grant_types: ["authorization_code"],
          id_token_signed_response_alg: "ES256",
        },
      ],
      jwks: { keys: [{ ...signing, use: "sig", alg: "ES256" }] },
      cookies: { keys: [randomBytes(16).toString("hex")] },
      claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name", "picture"] },
      ttl: {
        AccessToken: 600,
        AuthorizationCode: 60,
        Grant: 600,
        IdToken: 600,
        Interaction: 600,
        Session: 600,
      },
      findAccount: (_context: unknown, id: string) => {
        const account = accounts[id];
        return account === undefined ? undefined : { accountId: id, claims: () => ({ sub: id, ...account }) };
      },
    });
    const server = createServer(provider.callback());
    await new Promise<void>((resolve, reject) =>
      server.once("error", reject).listen(port, "127.0.0.1", resolve),
    );
    return new IdentityProvider(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, server);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
