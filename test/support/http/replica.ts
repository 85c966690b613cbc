import { TestApi, type TestApiOptions } from "./api.ts";

/**
 * Starts another API on the same database, Redis and cluster, without background work, so that its database
 * connections are used only by its requests.
 */
export async function startReplica(
  of: TestApi,
  { env, clock }: Pick<TestApiOptions, "env" | "clock"> = {},
): Promise<TestApi> {
  const { cluster, redis } = of.deps.config;
  const replica = await TestApi.start({
    database: of.database,
    redisUrl: redis.url,
    env: {
      BASE_URL: of.url,
      ...(cluster.kubeconfig !== undefined && { KUBECONFIG: cluster.kubeconfig }),
      SESSIONS_NAMESPACE: cluster.sessionsNamespace,
      POD_NAMESPACE: cluster.releaseNamespace,
      ...env,
    },
    ...(clock !== undefined && { clock }),
  });
  replica.deps.cluster.start();
  await replica.deps.cluster.waitForSync();
  return replica;
}

/** Stops a replica. Call it before stopping the original. */
export async function stopReplica(replica: TestApi): Promise<void> {
  await replica.deps.cluster.stop();
  await replica.stop();
}
