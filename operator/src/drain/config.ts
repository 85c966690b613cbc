import { z } from "zod";
import { listed, readEnvironment, type Environment } from "#runtime/program/readEnvironment.ts";

const names = z.string().transform(listed);

const Variables = z
  .object({
    SESSIONS_NAMESPACE: z.string().trim().min(1),
    POD_NAMESPACE: z.string().trim().min(1),
    DEPLOYMENTS: names,
    DRAIN_SECONDS: z.coerce.number().int().min(0).max(3600),
    JOB_NAME: z.string().trim().default(""),
  })
  .transform((variables) => ({
    sessionsNamespace: variables.SESSIONS_NAMESPACE,
    releaseNamespace: variables.POD_NAMESPACE,
    /** Deployments of the release that write to Joypod's objects. */
    deployments: variables.DEPLOYMENTS,
    /** Time that sessions get to end gracefully. */
    drainSeconds: variables.DRAIN_SECONDS,
    /** The Job that runs this program. Undefined if its origin need not be checked. */
    jobName: variables.JOB_NAME === "" ? undefined : variables.JOB_NAME,
  }));

export type DrainConfig = z.infer<typeof Variables>;

/** Reads the configuration from environment variables. Throws one error that names every wrong variable. */
export function readConfig(environment: Environment): DrainConfig {
  return readEnvironment(Variables, environment, "drain");
}
