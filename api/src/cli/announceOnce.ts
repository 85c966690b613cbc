import { once } from "node:events";
import { announceRevoked } from "../auth/revocations.ts";
import type { Logger } from "#runtime/logger.ts";
import { connectRedis, type RedisAddress } from "../stores/redis.ts";

const connectMs = 3_000;

/** Opens a connection to Redis for this one message; false when it cannot be delivered. */
export async function announceOnce(
  { seconds, ...address }: RedisAddress & { seconds: number },
  authSessionIds: readonly string[],
  logger: Logger,
): Promise<boolean> {
  const { redis } = connectRedis({ ...address, commandTimeoutMs: connectMs }, logger);
  try {
    await once(redis, "ready", { signal: AbortSignal.timeout(connectMs) });
    return await announceRevoked(redis, authSessionIds, seconds);
  } catch {
    return false; // Unavailable, or not in time: the caller tells what that means.
  } finally {
    redis.disconnect();
  }
}
