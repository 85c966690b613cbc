import fastifyJwt from "@fastify/jwt";
import fastifyRateLimit from "@fastify/rate-limit";
import Fastify, { type FastifyInstance } from "fastify";
import { z } from "zod";
import { GamesResponse } from "#contracts/http/catalog.ts";
import { KeepaliveResponse, type GameSessionRequest } from "#contracts/http/gameSessions.ts";
import { deriveKey } from "#api/auth/tokens.ts";
import type { Config } from "#api/config.ts";
import { etagOf } from "#api/http/respondCacheable.ts";
import { securityHeaders, type PeerStores } from "./peerStores.ts";

interface Claims {
  sub: string;
  name: string;
  email: string;
  sid: string;
}

/**
 * Serves the two routes in the usual way with fastify and its plugins: schemas for requests and responses,
 * its token plugin, and its rate limiter on Redis.
 */
export async function listenFastify(config: Config, stores: PeerStores): Promise<void> {
  const app = Fastify({ logger: false });
  const [[kid, key] = ["", Buffer.alloc(0)]] = config.auth.signingKeys;
  await app.register(fastifyJwt, {
    secret: deriveKey(key, "session"),
    sign: { algorithm: "HS256", kid, expiresIn: config.auth.tokenLifetimeSeconds * 1000 },
    verify: {
      algorithms: ["HS256"],
      cache: 1000,
      extractToken: ({ headers }) => /(?:^|; *)auth\.session-token=([^;]+)/.exec(headers.cookie ?? "")?.[1],
    },
  });
  // Counts in `preHandler`, after the token was verified.
  await app.register(fastifyRateLimit, {
    global: false,
    redis: stores.redis,
    hook: "preHandler",
    keyGenerator: ({ user }) => (user as Claims).sub,
  });
  app.addHook("onRequest", async (request, reply) => {
    reply.headers(securityHeaders).header("X-Request-Id", request.id).header("Cache-Control", "no-store");
    if (request.url === "/healthz") return;
    await request.jwtVerify();
    const { sub, name, email, sid } = request.user as Claims;
    const cached = await stores.redis.get(stores.gateOf(sid));
    if (cached === "revoked" || (cached === null && !(await stores.touch(sid, sub))))
      return reply.code(401).send({ error: "unauthorized" });
    const token = await reply.jwtSign({ sub, name, email, sid });
    const expires = new Date(Date.now() + config.auth.tokenLifetimeSeconds * 1000).toUTCString();
    reply.header(
      "Set-Cookie",
      `auth.session-token=${token}; Path=/; HttpOnly; SameSite=Lax; Expires=${expires}`,
    );
  });
  addRoutes(app, config, stores);
  await app.listen({ port: config.port, host: "127.0.0.1" });
}

function addRoutes(app: FastifyInstance, { gameSession, catalog }: Config, stores: PeerStores): void {
  const minute = 60_000;
  app.get("/healthz", () => ({ status: "ok" }));
  app.post<{ Body: GameSessionRequest }>(
    "/api/game/keepalive",
    {
      schema: { body: keepaliveBody, response: { 200: jsonSchema(KeepaliveResponse) } },
      config: { rateLimit: { max: gameSession.pollsPerMinute, timeWindow: minute, groupId: "poll" } },
    },
    (request) => stores.keepAlive((request.user as Claims).sub, request.body.sessionId),
  );
  app.get<{ Querystring: Record<string, string> }>(
    "/api/games",
    {
      schema: { response: { 200: jsonSchema(GamesResponse) } },
      config: { rateLimit: { max: catalog.requestsPerMinute, timeWindow: minute, groupId: "catalog" } },
      onSend: async (request, reply, payload) => {
        const tag = etagOf(String(payload));
        reply.header("Cache-Control", "private, no-cache").header("ETag", tag);
        return request.headers["if-none-match"] === tag ? await reply.code(304).send() : payload;
      },
    },
    async (request) =>
      JSON.parse(await stores.games((request.user as Claims).sub, request.query)) as GamesResponse,
  );
}

const keepaliveBody = {
  type: "object",
  required: ["sessionId"],
  additionalProperties: false,
  properties: { sessionId: { type: "string", minLength: 1, maxLength: 64 } },
};

/** Returns the contract's schema as JSON Schema, from which fastify compiles its serializer. */
function jsonSchema(schema: z.ZodType): object {
  return z.toJSONSchema(schema, { target: "draft-7" });
}
