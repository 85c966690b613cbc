import { z } from "zod";
import { objectName } from "#contracts/crd/schema.ts";
import { readEnvironment, type Environment } from "#runtime/program/readEnvironment.ts";

const Variables = z.object({
  RELEASE_NAME: objectName,
  RELEASE_NAMESPACE: objectName,
  API_SECRET: objectName.optional(),
  OPERATOR_SECRET: objectName.optional(),
  CONNECTION_TEST_SECRET: objectName.optional(),
  MINIO_SECRET: objectName.optional(),
  TURN_SECRET_NAME: objectName.optional(),
});

/** The secrets that the chart's hook creates if they are missing. */
export interface Config {
  release: string;
  namespace: string;
  /** Secret of the API's own keys; undefined if an admin provides it. */
  apiSecret: string | undefined;
  /** Secret of the operator's tickets for streamers; undefined if an admin provides it. */
  operatorSecret: string | undefined;
  /**
   * Secret of the API's tickets for connection tests; undefined if an admin provides it or connection tests
   * are disabled.
   */
  connectionTestSecret: string | undefined;
  /** Secret of the bundled MinIO's administrator; undefined if no stores are bundled. */
  minioSecret: string | undefined;
  /**
   * Secret of the relay's credentials; undefined if the relay is disabled or an admin provides the secret.
   */
  turnSecret: string | undefined;
}

/**
 * Returns the configuration. An empty variable counts as not set. Throws an error that names every invalid
 * variable.
 */
export function readConfig(environment: Environment): Config {
  const set = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ""));
  const env = readEnvironment(Variables, set, "making of secrets");
  return {
    release: env.RELEASE_NAME,
    namespace: env.RELEASE_NAMESPACE,
    apiSecret: env.API_SECRET,
    operatorSecret: env.OPERATOR_SECRET,
    connectionTestSecret: env.CONNECTION_TEST_SECRET,
    minioSecret: env.MINIO_SECRET,
    turnSecret: env.TURN_SECRET_NAME,
  };
}
