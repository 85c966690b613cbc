import { z } from "zod";
import { objectName } from "#contracts/crd/schema.ts";
import { limits } from "#contracts/limits.ts";

const Environment = z.object({
  NODE_NAME: z.string().min(1),
  SESSIONS_NAMESPACE: objectName.default("joypod-sessions"),
  NODE_ROOT: z.string().regex(/^\/[^\0]*[^/\0]$/, "must be an absolute path without a trailing slash").default("/var/lib/joypod"),
  CACHE_BUDGET_BYTES: z.coerce.number().int().min(0).default(0),
  SAVE_INTERVAL_SECONDS: z.coerce.number().min(0.1).max(3600).default(limits.save.intervalSeconds),
  S3_ENDPOINT: z.url({ protocol: /^https?$/ }),
  S3_REGION: z.string().min(1).default("us-east-1"),
  S3_BUCKET: z.string().min(3).max(63).default("joypod"),
  S3_ACCESS_KEY: z.string().min(1),
  S3_SECRET_KEY: z.string().min(1),
  HTTP_PORT: z.coerce.number().int().min(0).max(65_535).default(8082),
  LOG_LEVEL: z.enum(["trace", "debug", "info", "warn", "error"]).default("info"),
  AGENT_VERSION: z.string().min(1).max(64).default("dev"),
});

/** Everything the agent can be told. */
export interface Config {
  node: string;
  sessionsNamespace: string;
  root: string;
  cacheBudgetBytes: number;
  saveIntervalMs: number;
  s3: { endpoint: string; region: string; bucket: string; accessKey: string; secretKey: string };
  httpPort: number;
  logLevel: string;
  agentVersion: string;
}

/** Reads the environment; throws one sentence that names what is missing or wrong, and no secret. */
export function readConfig(environment: NodeJS.ProcessEnv): Config {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ""));
  const parsed = Environment.safeParse(given);
  if (!parsed.success) {
    const faults = parsed.error.issues.map(({ path, message }) => `${path.join(".")} (${message})`);
    throw new Error(`The environment is not complete: set ${faults.join(", ")}.`);
  }
  const { data } = parsed;
  return {
    node: data.NODE_NAME,
    sessionsNamespace: data.SESSIONS_NAMESPACE,
    root: data.NODE_ROOT,
    cacheBudgetBytes: data.CACHE_BUDGET_BYTES,
    saveIntervalMs: data.SAVE_INTERVAL_SECONDS * 1000,
    s3: {
      endpoint: data.S3_ENDPOINT, region: data.S3_REGION, bucket: data.S3_BUCKET, accessKey: data.S3_ACCESS_KEY, secretKey: data.S3_SECRET_KEY,
    },
    httpPort: data.HTTP_PORT,
    logLevel: data.LOG_LEVEL,
    agentVersion: data.AGENT_VERSION,
  };
}
