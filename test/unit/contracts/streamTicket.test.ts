import { expect } from "chai";
import { CompactSign, importJWK, jwtVerify } from "jose";
import { createPrivateKey, createSecretKey, sign } from "node:crypto";
import {
  bearerTicket,
  readTicket,
  signTicket,
  ticketPublicKeyOf,
  ticketSigningKey,
  ticketVerifyingKey,
  type TicketClaims,
} from "#contracts/streamTicket.ts";

const signingKey = ticketSigningKey(Buffer.alloc(32, 1));
const publicKey = ticketPublicKeyOf(signingKey);
const key = ticketVerifyingKey(publicKey);
const nowSeconds = 1_900_000_000;
const claims: TicketClaims = {
  aud: "gs-own",
  sub: "user1",
  role: "play",
  iat: nowSeconds,
  exp: nowSeconds + 60,
};
const headerOf = (alg: string): { alg: string; typ: string } => ({ alg, typ: "joypod-ticket+jwt" });
const at = (seconds: number): Date => new Date((nowSeconds + seconds) * 1_000);
const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

describe("a stream ticket", () => {
  it("has the claims that were signed", () => {
    expect(readTicket(signTicket(claims, signingKey), key, at(0))).to.deep.equal(claims);
  });

  it("is a JWS that other libraries can read and create", async () => {
    const jwk = await importJWK({ kty: "OKP", crv: "Ed25519", x: publicKey }, "EdDSA");
    const { payload } = await jwtVerify(signTicket(claims, signingKey), jwk, {
      typ: "joypod-ticket+jwt",
      audience: "gs-own",
      currentDate: at(0),
    });
    expect(payload).to.deep.equal(claims);
    const theirs = await new CompactSign(Buffer.from(JSON.stringify(claims)))
      .setProtectedHeader(headerOf("EdDSA"))
      .sign(signingKey);
    expect(readTicket(theirs, key, at(0))).to.deep.equal(claims);
  });

  it("is valid up to ten minutes before and after its lifetime", () => {
    const ticket = signTicket(claims, signingKey);
    const validAt = (seconds: number): boolean => readTicket(ticket, key, at(seconds)) !== undefined;
    expect([-601, -600, 0, 659, 660].map(validAt)).to.deep.equal([false, true, true, true, false]);
  });

  it("is rejected if it was signed with another key or modified", () => {
    const ticket = signTicket(claims, signingKey);
    expect(readTicket(signTicket(claims, ticketSigningKey(Buffer.alloc(32, 2))), key, at(0))).to.equal(
      undefined,
    );
    const [head = "", , signature = ""] = ticket.split(".");
    expect(readTicket(`${head}.${part({ ...claims, role: "operate" })}.${signature}`, key, at(0))).to.equal(
      undefined,
    );
    for (let index = 0; index < ticket.length; index++) {
      const changed = ticket.slice(0, index) + (ticket[index] === "A" ? "B" : "A") + ticket.slice(index + 1);
      expect(readTicket(changed, key, at(0)), changed).to.equal(undefined);
    }
  });

  const strange: [what: string, make: () => Promise<string> | string][] = [
    ["no signature", () => `${part(headerOf("none"))}.${part(claims)}.`],
    [
      "a signature by the public key as a secret",
      () =>
        new CompactSign(Buffer.from(JSON.stringify(claims)))
          .setProtectedHeader(headerOf("HS256"))
          .sign(createSecretKey(Buffer.from(publicKey, "base64url"))),
    ],
    ["another type", () => signedWith({ alg: "EdDSA", typ: "JWT" }, claims)],
    [
      "an embedded key",
      () => signedWith({ ...headerOf("EdDSA"), jwk: { kty: "OKP", crv: "Ed25519", x: publicKey } }, claims),
    ],
    [
      "an extension that must be understood",
      () => signedWith({ ...headerOf("EdDSA"), crit: ["b64"], b64: true }, claims),
    ],
    ["an additional claim", () => signedWith(headerOf("EdDSA"), { ...claims, admin: true })],
    ["a missing claim", () => signedWith(headerOf("EdDSA"), { ...claims, exp: undefined })],
    ["an unknown role", () => signedWith(headerOf("EdDSA"), { ...claims, role: "own" })],
    ["a time that is not a number", () => signedWith(headerOf("EdDSA"), { ...claims, exp: "9999999999" })],
    ["padding", () => `${signTicket(claims, signingKey)}=`],
    ["more parts", () => `${signTicket(claims, signingKey)}.`],
    ["too many characters", () => signTicket({ ...claims, sub: "€".repeat(253) }, signingKey)],
    ["empty text", () => ""],
  ];
  for (const [what, make] of strange) {
    it(`is rejected with ${what}`, async () => {
      expect(readTicket(await make(), key, at(0))).to.equal(undefined);
    });
  }

  it("is only accepted in an Authorization header with the Bearer scheme", () => {
    const ticket = signTicket(claims, signingKey);
    expect(bearerTicket(`Bearer ${ticket}`)).to.equal(ticket);
    expect(bearerTicket(`bearer ${ticket}`)).to.equal(ticket);
    for (const other of [
      undefined,
      "",
      ticket,
      `Basic ${ticket}`,
      `Bearer ${ticket}, Bearer ${ticket}`,
      "Bearer joypod_live_key",
      `Bearer ${ticket} `,
    ]) {
      expect(bearerTicket(other), other).to.equal(undefined);
    }
  });

  it("has a signing key that depends only on its 32 bytes", () => {
    const jwk = createPrivateKey({ key: signingKey.export({ format: "jwk" }), format: "jwk" }).export({
      format: "jwk",
    });
    expect(jwk).to.include({ crv: "Ed25519", d: Buffer.alloc(32, 1).toString("base64url"), x: publicKey });
  });
});

/** Signs any header and payload with the correct key. */
function signedWith(header: object, payload: object): string {
  const signed = `${part(header)}.${part(payload)}`;
  return `${signed}.${sign(null, Buffer.from(signed), signingKey).toString("base64url")}`;
}
