import { createHmac, createSecretKey, timingSafeEqual, type KeyObject } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { deriveKey } from "#api/auth/tokens.ts";
import type { Config } from "#api/config.ts";
import { etagOf } from "#api/http/respondCacheable.ts";
import { RateLimits } from "#api/http/rateLimits.ts";
import { securityHeaders, type PeerStores } from "./peerStores.ts";

interface Claims {
  sub: string;
  name: string;
  email: string;
  sid: string;
  exp: number;
}

/**
 * Serves the two routes with node:http, without a framework or token library: the minimal cost of this work.
 */
export async function listenBare(config: Config, stores: PeerStores): Promise<void> {
  const [[kid, raw] = ["", Buffer.alloc(0)]] = config.auth.signingKeys;
  const key = createSecretKey(deriveKey(raw, "session"));
  const header = Buffer.from(JSON.stringify({ alg: "HS256", typ: "JWT", kid })).toString("base64url");
  const rateLimits = new RateLimits(stores.redis, config);
  let requests = 0;

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = request.url ?? "";
    if (url === "/healthz") {
      send(response, {}, { status: "ok" });
      return;
    }
    const claims = verify(
      /(?:^|; *)auth\.session-token=([^;]+)/.exec(request.headers.cookie ?? "")?.[1] ?? "",
      key,
    );
    if (claims === undefined) throw new Error("No valid token.");
    const isKeepalive = url === "/api/game/keepalive";
    const gate = { key: stores.gateOf(claims.sid), closed: "revoked" };
    const {
      gate: state,
      outcomes: [limit],
    } = await rateLimits.consumeIf(gate, [isKeepalive ? "poll" : "catalog"], claims.sub);
    if (state === "revoked" || (typeof state !== "string" && !(await stores.touch(claims.sid, claims.sub))))
      throw new Error("The sign-in is over.");
    if (limit?.isAllowed === false) throw new Error("Too many requests.");
    const exp = Math.floor(Date.now() / 1000) + config.auth.tokenLifetimeSeconds;
    const headers = {
      "X-Request-Id": String((requests += 1)),
      "RateLimit-Policy": `"${limit?.name}";q=${limit?.points};w=${limit?.windowSeconds}`,
      RateLimit: `"${limit?.name}";r=${limit?.remaining};t=${Math.ceil(limit?.resetSeconds ?? 0)}`,
      "Set-Cookie": `auth.session-token=${sign(header, { ...claims, exp }, key)}; Path=/; HttpOnly; SameSite=Lax; Expires=${new Date(exp * 1000).toUTCString()}`,
    };
    if (isKeepalive) {
      const { sessionId } = JSON.parse(await text(request)) as { sessionId: string };
      send(
        response,
        { ...headers, "Cache-Control": "no-store" },
        await stores.keepAlive(claims.sub, sessionId),
      );
      return;
    }
    const body = await stores.games(
      claims.sub,
      Object.fromEntries(new URLSearchParams(url.split("?", 2)[1])),
    );
    const tag = etagOf(body);
    sendText(
      response,
      request.headers["if-none-match"] === tag ? 304 : 200,
      { ...headers, "Cache-Control": "private, no-cache", ETag: tag },
      body,
    );
  };

  const server = createServer(
    (request, response) => void serve(request, response).catch(() => response.writeHead(400).end()),
  );
  await new Promise<void>((resolve) => server.listen(config.port, "127.0.0.1", resolve));
}

function verify(token: string, key: KeyObject): Claims | undefined {
  const [header, payload, signature] = token.split(".");
  if (header === undefined || payload === undefined || signature === undefined) return undefined;
  const expected = createHmac("sha256", key).update(`${header}.${payload}`).digest();
  const actual = Buffer.from(signature, "base64url");
  if (actual.length !== expected.length || !timingSafeEqual(actual, expected)) return undefined;
  const claims = JSON.parse(Buffer.from(payload, "base64url").toString()) as Claims;
  return claims.exp > Date.now() / 1000 ? claims : undefined;
}

function sign(header: string, { sub, name, email, sid, exp }: Claims, key: KeyObject): string {
  const iat = Math.floor(Date.now() / 1000);
  const payload = Buffer.from(JSON.stringify({ sub, name, email, sid, iat, exp })).toString("base64url");
  return `${header}.${payload}.${createHmac("sha256", key).update(`${header}.${payload}`).digest("base64url")}`;
}

function text(request: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.once("end", () => resolve(Buffer.concat(chunks).toString()));
    request.once("error", reject);
  });
}

function send(response: ServerResponse, headers: Record<string, string>, body: object): void {
  sendText(response, 200, headers, JSON.stringify(body));
}

function sendText(
  response: ServerResponse,
  status: number,
  headers: Record<string, string>,
  body: string,
): void {
  response
    .writeHead(status, {
      ...securityHeaders,
      ...headers,
      "Content-Type": "application/json; charset=utf-8",
      "Content-Length": Buffer.byteLength(body),
    })
    .end(status === 304 ? undefined : body);
}
