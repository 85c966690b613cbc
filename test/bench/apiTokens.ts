import { createSecretKey, randomBytes } from "node:crypto";
import { jwtVerify, SignJWT } from "jose";
import { createSid, deriveKey, Tokens } from "#api/auth/tokens.ts";
import type { AppContext } from "#api/http/appContext.ts";
import { systemClock } from "#runtime/scheduling/clock.ts";
import { atMostRow, median, type BenchRow } from "./row.ts";

const rounds = 7;
const tokensPerRound = 2000;
const lifetimeSeconds = 30 * 86_400;
const cookie = "auth.session-token";

/**
 * A2: checks a token that the process has not seen before and renews it, through koa-jwt as in the API,
 * compared with jose and a KeyObject.
 */
export async function measureTokens(): Promise<BenchRow> {
  const signingKeys = new Map([["bench", randomBytes(32)]]);
  const key = createSecretKey(deriveKey(signingKeys.get("bench") ?? Buffer.alloc(0), "session"));
  const options = { signingKeys, lifetimeSeconds, cookie, clock: systemClock };
  const ours = new Tokens(options);
  const [oursMs, joseMs]: [number[], number[]] = [[], []];
  for (let round = 0; round <= rounds; round += 1) {
    // Issued by another replica, so that no token is cached.
    const replica = new Tokens(options);
    const tokens = Array.from(
      { length: tokensPerRound },
      () =>
        replica.issue(
          { sub: "user", name: "Ada Player", email: "ada@example.test", sid: createSid() },
          undefined,
        ).token,
    );
    const [first, second] = [
      await cpuMs(tokens, (token) => renew(ours, token)),
      await cpuMs(tokens, (token) => renewByJose(key, token)),
    ];
    if (round === 0) continue;
    oursMs.push(first);
    joseMs.push(second);
  }
  return atMostRow("A2 token check and renewal, jose", median(oursMs), median(joseMs), 0.5);
}

async function cpuMs(tokens: readonly string[], work: (token: string) => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  for (const token of tokens) await work(token);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / tokens.length;
}

async function renew(tokens: Tokens, token: string): Promise<void> {
  const claims = await tokens.verify(contextWith(token));
  if (claims === undefined) throw new Error("A good token was refused.");
  tokens.issue(claims, undefined);
}

/** Returns the parts of a request context that the cookie check reads. */
function contextWith(token: string): AppContext {
  const context: Pick<AppContext, "state" | "header"> & {
    cookies: { get: (name: string) => string | undefined };
    throw: () => never;
  } = {
    state: { requestId: "" },
    header: {},
    cookies: { get: (name) => (name === cookie ? token : undefined) },
    throw: () => {
      throw new Error("refused");
    },
  };
  return context as unknown as AppContext;
}

async function renewByJose(key: ReturnType<typeof createSecretKey>, token: string): Promise<void> {
  const {
    payload: { sub = "", name, email, sid },
  } = await jwtVerify(token, key, { algorithms: ["HS256"], clockTolerance: 30 });
  const iat = Math.floor(Date.now() / 1000);
  await new SignJWT({ sub, name, email, sid, iat, exp: iat + lifetimeSeconds })
    .setProtectedHeader({ alg: "HS256", typ: "JWT", kid: "bench" })
    .sign(key);
}
