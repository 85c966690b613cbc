import { z } from "zod";
import { unavailable } from "../errors.ts";
import { json } from "./responses.ts";
import { NoQuery } from "./input.ts";
import { publicRouteFor } from "./route.ts";
import { StoreLook } from "./storeLook.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import { silentLogger, type Logger } from "#runtime/logger.ts";
import { objectStoreSentence } from "#s3/objectStoreFailure.ts";
import { databaseSentence } from "../stores/databaseFailure.ts";
import { requireBucket, type ObjectStore } from "../stores/objectStore.ts";
import type { Postgres } from "../stores/postgres.ts";
import { pingDatabase } from "../stores/queryable.ts";
import { pingRedis, type RedisConnection } from "../stores/redis.ts";
import { redisSentence } from "../stores/redisFailure.ts";
import { messageOf } from "#runtime/errors.ts";

/** The stores without which requests cannot be served. */
export interface Readiness {
  database: StoreLook;
  objectStore: StoreLook;
  /** Each process can do without it, so it hinders no request. */
  redis: StoreLook;
}

/** What the looks are made of; `keptMs` is how long each is told to everybody. */
export interface ReadinessOptions {
  postgres: Postgres;
  objectStore: ObjectStore;
  redis: { connection: RedisConnection; url: string };
  clock: Clock;
  logger: Logger;
  keptMs: number;
}

const HealthResponse = z
  .object({ status: z.literal("ok") })
  .meta({ id: "Health", description: "The service is healthy." });

const ReadyResponse = HealthResponse.extend({
  warnings: z
    .array(z.string())
    .optional()
    .meta({ description: "What does not work, in sentences, although requests are served." }),
}).meta({ id: "Readiness", description: "Requests can be served." });

const route = publicRouteFor<{ readiness: Readiness }>();

/** Leaves a part out, as Kubernetes' own `/readyz` can. */
const ReadyQuery = z.strictObject({
  exclude: z
    .literal("objectStore")
    .optional()
    .meta({ description: "Does not ask the object store, without which all but uploads and saves goes on." }),
});

/** Outside /api: for Kubernetes, not for players. */
export const healthRoutes = [
  route({
    method: "GET",
    path: "/healthz",
    name: "isAlive",
    summary: "Tell whether the process lives",
    limits: [],
    query: NoQuery,
    responses: { 200: json(HealthResponse) },
    errors: [],
    handle: ({ ctx }) => {
      ctx.body = { status: "ok" };
    },
  }),
  route({
    method: "GET",
    path: "/readyz",
    name: "isReady",
    summary: "Tell whether requests can be served",
    limits: [],
    query: ReadyQuery,
    responses: { 200: json(ReadyResponse) },
    errors: ["unavailable"],
    handle: async ({ ctx, deps, query }) => {
      if (deps.lifecycle.isStopping) throw unavailable("The server is stopping.");
      await deps.readiness.database.check();
      if (query.exclude === undefined) await deps.readiness.objectStore.check();
      const warnings = await warningsOf(deps.readiness);
      ctx.body = { status: "ok", ...(warnings.length > 0 && { warnings }) };
    },
  }),
];

/** Returns what does not work and hinders no request. */
async function warningsOf({ redis }: Readiness): Promise<string[]> {
  return redis.check().then(
    () => [],
    (error: unknown) => [messageOf(error)],
  );
}

/** Returns the looks that tell whether requests can be served, and with what. */
export function createReadiness({
  postgres,
  objectStore,
  redis,
  clock,
  logger,
  keptMs,
}: ReadinessOptions): Readiness {
  return {
    database: new StoreLook({
      clock,
      keptMs,
      logger,
      ask: () => pingDatabase(postgres.pool),
      explain: databaseSentence,
      message: "The database does not answer.",
    }),
    objectStore: new StoreLook({
      clock,
      keptMs,
      logger,
      ask: () => requireBucket(objectStore),
      explain: objectStoreSentence,
      message: "The object store does not answer, or is not set up.",
    }),
    redis: new StoreLook({
      // The connection itself logs what becomes of it.
      clock,
      keptMs,
      logger: silentLogger,
      ask: () => pingRedis(redis.connection),
      explain: (error) => redisSentence(error, redis.url),
      message: "Redis does not answer: limits and lockouts are counted by each process for itself.",
    }),
  };
}
