import { z } from "zod";
import { unavailable } from "../errors.ts";
import { json } from "./responses.ts";
import { NoQuery } from "./input.ts";
import { publicRouteFor } from "./route.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import { silentLogger, type Logger } from "#runtime/logger.ts";
import { objectStoreSentence } from "#s3/objectStoreFailure.ts";
import { databaseSentence } from "../stores/databaseFailure.ts";
import { requireBucket, type ObjectStore } from "../stores/objectStore.ts";
import type { Postgres } from "../stores/postgres.ts";
import { pingDatabase } from "../stores/queryable.ts";
import { pingRedis, type RedisConnection, redisSentence } from "../stores/redis.ts";
import { messageOf } from "#runtime/errors.ts";
import { untilAborted, withDeadline } from "#runtime/scheduling/deadline.ts";

/** The stores that the API needs. */
export interface Readiness {
  database: StoreCheck;
  objectStore: StoreCheck;
  /** Optional: requests are served without it. */
  redis: StoreCheck;
}

/** Dependencies of the health checks; `keptMs` is how long a result is reused. */
interface ReadinessOptions {
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
    .meta({ description: "Problems that do not prevent requests from being served." }),
  queue: z
    .object({ length: z.int().min(0), oldestWaitSeconds: z.number().min(0) })
    .optional()
    .meta({ description: "Launches that wait for a seat, if `include` asks for them." }),
}).meta({ id: "Readiness", description: "Requests can be served." });

const route = publicRouteFor<{
  readiness: Readiness;
  queueState: () => Promise<{ length: number; oldestWaitSeconds: number }>;
}>();

/**
 * `exclude` leaves a check out, as in Kubernetes' own `/readyz`. `kubectl joypod status` includes the queue.
 */
const ReadyQuery = z.strictObject({
  exclude: z
    .literal("objectStore")
    .optional()
    .meta({ description: "Skips the check of the object store. Only uploads and saves need it." }),
  include: z.literal("queue").optional().meta({ description: "Adds the state of the queue." }),
});

/** Outside /api: for Kubernetes, not for players. */
export const healthRoutes = [
  route({
    method: "GET",
    path: "/healthz",
    name: "isAlive",
    summary: "Check liveness",
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
    summary: "Check readiness",
    limits: [],
    query: ReadyQuery,
    responses: { 200: json(ReadyResponse) },
    errors: ["unavailable"],
    handle: async ({ ctx, deps, query }) => {
      if (deps.lifecycle.isStopping) throw unavailable("The server is stopping.");
      await deps.readiness.database.check();
      if (query.exclude === undefined) await deps.readiness.objectStore.check();
      const warnings = await warningsOf(deps.readiness);
      ctx.body = {
        status: "ok",
        ...(warnings.length > 0 && { warnings }),
        ...(query.include === "queue" && { queue: await deps.queueState() }),
      };
    },
  }),
];

/** Returns warnings about optional stores that are unavailable. */
async function warningsOf({ redis }: Readiness): Promise<string[]> {
  return redis.check().then(
    () => [],
    (error: unknown) => [messageOf(error)],
  );
}

/** Returns the checks of the stores. */
export function createReadiness({
  postgres,
  objectStore,
  redis,
  clock,
  logger,
  keptMs,
}: ReadinessOptions): Readiness {
  return {
    database: new StoreCheck({
      clock,
      keptMs,
      logger,
      ask: () => pingDatabase(postgres.pool),
      explain: databaseSentence,
      message: "The database does not respond.",
    }),
    objectStore: new StoreCheck({
      clock,
      keptMs,
      logger,
      ask: () => requireBucket(objectStore),
      explain: objectStoreSentence,
      message: "The object store does not respond, or is not set up.",
    }),
    redis: new StoreCheck({
      // The connection itself logs its failures.
      clock,
      keptMs,
      logger: silentLogger,
      ask: () => pingRedis(redis.connection),
      explain: (error) => redisSentence(error, redis.url),
      message: "Redis does not respond. Each process counts rate limits and lockouts on its own.",
    }),
  };
}

/** Configuration of a store's check. */
interface StoreCheckOptions {
  clock: Clock;
  /** How long a result is reused. */
  keptMs: number;
  /** Resolves when the store serves requests. */
  ask: () => Promise<void>;
  /** Message for clients when it does not. */
  message: string;
  /** Returns a configuration problem, readable by clients; undefined for transient errors. */
  explain: (error: unknown) => string | undefined;
  logger: Logger;
}

const checkTimeoutMs = 2_000;

/** Checks a store once for all concurrent and recent callers, so that many requests cost the store little. */
export class StoreCheck {
  readonly #options: StoreCheckOptions;
  /** Continues after the check times out, so a hanging store does not get a new request from each check. */
  #request: Promise<void> | undefined;
  #check: Promise<void> | undefined;
  #freshUntilMs = 0;
  /** Reason of the last failure that was logged; undefined after a success. */
  #loggedReason: string | undefined;

  constructor(options: StoreCheckOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the store serves requests.
   *
   * @throws unavailable when it does not within two seconds
   */
  check(): Promise<void> {
    const { clock } = this.#options;
    if (this.#check !== undefined && clock.monotonicMs() < this.#freshUntilMs) return this.#check;
    this.#freshUntilMs = Infinity;
    const check = this.#begin().finally(
      () => (this.#freshUntilMs = clock.monotonicMs() + this.#options.keptMs),
    );
    check.catch(() => undefined); // Callers get the rejection.
    return (this.#check = check);
  }

  async #begin(): Promise<void> {
    const { clock, ask, message, explain, logger } = this.#options;
    const request = (this.#request ??= ask().finally(() => (this.#request = undefined)));
    try {
      await withDeadline({ clock, ms: checkTimeoutMs, what: "A health check" }, (signal) =>
        untilAborted(request, signal),
      );
      if (this.#loggedReason !== undefined)
        logger.info({ former: this.#loggedReason }, "A store is available again.");
      this.#loggedReason = undefined;
    } catch (cause) {
      const reason = explain(cause) ?? message;
      if (reason !== this.#loggedReason) logger.warn({ err: cause, reason }, "A store is unavailable.");
      this.#loggedReason = reason;
      throw unavailable(reason, cause);
    }
  }
}
