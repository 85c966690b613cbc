import { expect } from "chai";
import jsonwebtoken from "jsonwebtoken";
import Koa from "koa";
import { randomBytes } from "node:crypto";
import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { createSid, deriveKey, Tokens, type TokenClaims, type TokenContext } from "#api/auth/tokens.ts";
import { FakeClock } from "#test/support/clocks/fakeClock.ts";

describe("Tokens", () => {
  const cookie = "auth.session-token";
  const clock = new FakeClock();
  const iat = clock.now().getTime() / 1000;
  const key = randomBytes(32);
  const claims = {
    sub: "user-1",
    name: "Ada",
    email: "ada@example.test",
    sid: createSid(),
    iat,
    exp: iat + 60,
  };

  function contextWith(token: string): TokenContext {
    const request = new IncomingMessage(new Socket());
    request.headers.cookie = `${cookie}=${token}`;
    return new Koa().createContext(request, new ServerResponse(request));
  }

  function verify(ctx: TokenContext): Promise<unknown> {
    return new Tokens({ signingKeys: new Map([["one", key]]), lifetimeSeconds: 60, cookie, clock }).verify(
      ctx,
    );
  }

  it("remember the tokens of a sign-in that its browser may still send, and not each renewal", async () => {
    const tokens = new Tokens({ signingKeys: new Map([["one", key]]), lifetimeSeconds: 60, cookie, clock });
    const read = async (token: string) =>
      (await tokens.verify(contextWith(token))) ?? expect.fail("a token that is not good");
    const isRemembered = async (token: string, as: object): Promise<boolean> => (await read(token)) === as;
    const renewed = async (from: TokenClaims) => {
      await clock.advance(1000);
      const { token } = tokens.issue(from);
      return { token, claims: await read(token) };
    };
    const first = tokens.issue(claims).token;
    const second = await renewed(await read(first));
    const third = await renewed(second.claims);
    expect(
      await isRemembered(second.token, second.claims),
      "one that requests on their way may carry",
    ).to.equal(true);
    const fourth = await renewed(third.claims);
    expect(await isRemembered(second.token, second.claims), "one that has been replaced twice").to.equal(
      false,
    );
    expect(await isRemembered(third.token, third.claims)).to.equal(true);

    const again = await renewed(third.claims);
    expect(
      await isRemembered(fourth.token, fourth.claims),
      "a renewal that the browser did not take",
    ).to.equal(false);
    expect(await isRemembered(again.token, again.claims)).to.equal(true);
  });

  it("ignore a key in the request's state", async () => {
    const sign = (secret: Buffer): string =>
      jsonwebtoken.sign(claims, secret, { algorithm: "HS256", keyid: "one" });
    expect(await verify(contextWith(sign(deriveKey(key, "session"))))).to.deep.equal(claims);
    const foreign = randomBytes(32);
    expect(await verify(contextWith(sign(foreign)))).to.be.undefined;
    const planted = contextWith(sign(foreign));
    Object.assign(planted.state, { secret: foreign });
    expect(await verify(planted).then(() => "believed", String)).to.contain("ctx.state.secret");
  });
});
