import { z } from "zod";
import { installationName } from "#contracts/crd/installation.ts";
import { objectName } from "#contracts/crd/schema.ts";
import { limits } from "#contracts/limits.ts";
import { checkObjectStore, objectStoreAccessOf, objectStoreVariables } from "#s3/objectStoreVariables.ts";
import { logLevel, readEnvironment, type Environment } from "#runtime/program/readEnvironment.ts";

const Variables = z
  .object({
    NODE_NAME: z.string().min(1),
    SESSIONS_NAMESPACE: objectName.default("joypod-sessions"),
    NODE_AGENT_NAMESPACE: objectName.default("joypod-nodes"),
    INSTALLATION: installationName,
    NODE_ROOT: z
      .string()
      .regex(/^\/[^\0]*[^/\0]$/, "must be an absolute path without a trailing slash")
      .default("/var/lib/joypod"),
    CACHE_BUDGET_BYTES: z.coerce.number().int().min(0).default(0),
    FILL_BYTES_PER_SECOND: z.coerce.number().int().min(0).default(limits.node.fillBytesPerSecond),
    CHECK_INTERVAL_SECONDS: z.coerce.number().min(0.1).max(3600).default(30),
    SAVE_INTERVAL_SECONDS: z.coerce.number().min(0.1).max(3600).default(limits.save.intervalSeconds),
    ...objectStoreVariables,
    HTTP_PORT: z.coerce.number().int().min(0).max(65_535).default(8082),
    LOG_LEVEL: logLevel,
    AGENT_VERSION: z.string().min(1).max(64).default("dev"),
  })
  .superRefine(checkObjectStore);

/** The agent's configuration. Nothing else reads the environment. */
export type Config = ReturnType<typeof readConfig>;

/**
 * Returns the configuration. Throws one error that names every invalid variable. An empty variable counts as
 * unset.
 */
export function readConfig(environment: Environment) {
  const set = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ""));
  const env = readEnvironment(Variables, set, "node agent");
  return {
    node: env.NODE_NAME,
    sessionsNamespace: env.SESSIONS_NAMESPACE,
    /** Namespace of this node's Lease. */
    nodeAgentNamespace: env.NODE_AGENT_NAMESPACE,
    /** Distinguishes this installation's GameNode from those of others in the cluster. */
    installation: { name: env.INSTALLATION, sessionsNamespace: env.SESSIONS_NAMESPACE },
    root: env.NODE_ROOT,
    cacheBudgetBytes: env.CACHE_BUDGET_BYTES,
    fillBytesPerSecond: env.FILL_BYTES_PER_SECOND,
    checkIntervalMs: env.CHECK_INTERVAL_SECONDS * 1000,
    saveIntervalMs: env.SAVE_INTERVAL_SECONDS * 1000,
    objectStore: objectStoreAccessOf(env),
    httpPort: env.HTTP_PORT,
    logLevel: env.LOG_LEVEL,
    agentVersion: env.AGENT_VERSION,
  };
}
