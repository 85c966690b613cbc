import { z } from "zod";
import { unavailable } from "../errors.ts";
import { json } from "./responses.ts";
import { NoQuery } from "./input.ts";
import { publicRouteFor } from "./route.ts";
import { StoreLook } from "./storeLook.ts";
import type { Clock } from "#runtime/clock.ts";
import type { ObjectStore } from "../stores/objectStore.ts";
import type { Postgres } from "../stores/postgres.ts";
import { pingDatabase } from "../stores/queryable.ts";

/** The stores without which requests cannot be served. */
export interface Readiness {
  database: StoreLook;
  objectStore: StoreLook;
}

/** What the looks are made of; `keptMs` is how long each is told to everybody. */
export interface ReadinessOptions {
  postgres: Postgres;
  objectStore: ObjectStore;
  clock: Clock;
  keptMs: number;
}

const route = publicRouteFor<{ readiness: Readiness }>();

/** Leaves a part out, as Kubernetes' own `/readyz` can. */
const ReadyQuery = z.strictObject({
  exclude: z.literal("objectStore").optional().meta({ description: "Does not ask the object store, without which all but uploads and saves goes on." }),
});

const HealthResponse = z.object({ status: z.literal("ok") }).meta({ id: "Health", description: "All is well." });

/** Outside /api: for Kubernetes, not for players. */
export const healthRoutes = [
  route({
    method: "GET", path: "/healthz", name: "isAlive", summary: "Tell whether the process lives", limits: [], query: NoQuery,
    responses: { 200: json(HealthResponse) }, errors: [],
    handle: ({ ctx }) => {
      ctx.body = { status: "ok" };
    },
  }),
  route({
    method: "GET", path: "/readyz", name: "isReady", summary: "Tell whether requests can be served", limits: [], query: ReadyQuery,
    responses: { 200: json(HealthResponse) }, errors: ["unavailable"],
    handle: async ({ ctx, deps, query }) => {
      if (deps.lifecycle.isStopping) throw unavailable("The server is stopping.");
      await deps.readiness.database.check();
      if (query.exclude === undefined) await deps.readiness.objectStore.check();
      ctx.body = { status: "ok" };
    },
  }),
];

/** Returns the looks that tell whether requests can be served. Redis is not looked at: each process can do without it. */
export function createReadiness({ postgres, objectStore, clock, keptMs }: ReadinessOptions): Readiness {
  const { client, bucket } = objectStore;
  return {
    database: new StoreLook({ clock, keptMs, ask: () => pingDatabase(postgres.pool), message: "The database does not answer." }),
    objectStore: new StoreLook({
      clock, keptMs, message: "The object store does not answer, or is not set up.",
      ask: async () => {
        if (!await client.bucketExists(bucket)) throw new Error(`There is no bucket ${bucket}.`);
      },
    }),
  };
}
