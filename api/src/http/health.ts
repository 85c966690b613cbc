import { z } from "zod";
import { unavailable } from "../errors.ts";
import { json } from "./responses.ts";
import { NoQuery } from "./input.ts";
import { publicRouteFor } from "./route.ts";
import { withTimeout } from "#runtime/deadline.ts";
import type { ObjectStore } from "../stores/objectStore.ts";
import { pingDatabase } from "../stores/queryable.ts";

const route = publicRouteFor<{ objectStore: ObjectStore }>();

const checkMs = 2_000;

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
      const { postgres, objectStore: { client, bucket } } = deps;
      await replyTo(pingDatabase(postgres.pool), "The database does not answer.");
      if (query.exclude === undefined) {
        const hasBucket = await replyTo(client.bucketExists(bucket), "The object store does not answer.");
        if (!hasBucket) throw unavailable("The object store is not set up.", new Error(`There is no bucket ${bucket}.`));
      }
      ctx.body = { status: "ok" };
    },
  }),
];

/** Redis is not asked: each process can do without it. */
async function replyTo<T>(question: Promise<T>, message: string): Promise<T> {
  return withTimeout(question, checkMs, "A health check").catch((cause: unknown) => {
    throw unavailable(message, cause);
  });
}
