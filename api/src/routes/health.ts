import { z } from "zod";
import { unavailable } from "../errors.ts";
import { json } from "../routing/answers.ts";
import { NoQuery } from "../routing/input.ts";
import { publicRoute } from "../routing/route.ts";

const checkMs = 2_000;

const HealthResponse = z.object({ status: z.literal("ok") }).meta({ id: "Health", description: "All is well." });

/** Outside /api: for Kubernetes, not for players. */
export const healthRoutes = [
  publicRoute({
    method: "GET", path: "/healthz", name: "isAlive", summary: "Tell whether the process lives", limits: [], query: NoQuery,
    answers: { 200: json(HealthResponse) }, errors: [],
    handle: ({ ctx }) => {
      ctx.body = { status: "ok" };
    },
  }),
  publicRoute({
    method: "GET", path: "/readyz", name: "isReady", summary: "Tell whether requests can be served", limits: [], query: NoQuery,
    answers: { 200: json(HealthResponse) }, errors: ["unavailable"],
    handle: async ({ ctx, deps }) => {
      if (deps.lifecycle.isStopping) throw unavailable("The server is stopping.");
      await isAnswering(deps.postgres.pool.query("SELECT 1"), "The database does not answer.");
      ctx.body = { status: "ok" };
    },
  }),
];

/** Redis and the object store have stand-ins or matter to few requests; without the database there is no service. */
async function isAnswering(question: Promise<unknown>, message: string): Promise<void> {
  const timeout = AbortSignal.timeout(checkMs);
  await Promise.race([
    question,
    new Promise((_resolve, reject) => timeout.addEventListener("abort", () => reject(new Error("timed out")))),
  ]).catch((cause: unknown) => {
    throw unavailable(message, cause);
  });
}
