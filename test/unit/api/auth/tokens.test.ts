import { expect } from "chai";
import jsonwebtoken from "jsonwebtoken";
import Koa from "koa";
import { randomBytes } from "node:crypto";
import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { createSid, deriveKey, Tokens, type TokenContext } from "#api/auth/tokens.ts";
import { FakeClock } from "../../../support/clocks/fakeClock.ts";

describe("Tokens", () => {
  const cookie = "auth.session-token";
  const clock = new FakeClock();
  const iat = clock.now().getTime() / 1000;
  const key = randomBytes(32);
  const claims = { sub: "user-1", name: "Ada", email: "ada@example.test", sid: createSid(), iat, exp: iat + 60 };

  function contextWith(token: string): TokenContext {
    const request = new IncomingMessage(new Socket());
    request.headers.cookie = `${cookie}=${token}`;
    return new Koa().createContext(request, new ServerResponse(request));
  }

  function verify(ctx: TokenContext): Promise<unknown> {
    return new Tokens({ signingKeys: new Map([["one", key]]), lifetimeSeconds: 60, cookie, clock }).verify(ctx);
  }

  it("ignore a key in the request's state", async () => {
    const sign = (secret: Buffer): string => jsonwebtoken.sign(claims, secret, { algorithm: "HS256", keyid: "one" });
    expect(await verify(contextWith(sign(deriveKey(key, "session"))))).to.deep.equal(claims);
    const foreign = randomBytes(32);
    expect(await verify(contextWith(sign(foreign)))).to.be.undefined;
    const planted = contextWith(sign(foreign));
    Object.assign(planted.state, { secret: foreign });
    expect(await verify(planted).then(() => "believed", String)).to.contain("ctx.state.secret");
  });
});
