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

/** Which secrets the chart's hook makes where they are missing. */
export interface Config {
  release: string;
  namespace: string;
  /** Of the API's own keys; undefined where an admin gives them. */
  apiSecret: string | undefined;
  /** Of the operator's tickets to streamers; undefined where an admin gives it. */
  operatorSecret: string | undefined;
  /**
   * Of the API's tickets to connection tests; undefined where an admin gives it, or there is no such test.
   */
  connectionTestSecret: string | undefined;
  /** Of the administrator of the bundled MinIO; undefined where no stores are bundled. */
  minioSecret: string | undefined;
  /** Of the relay's credentials; undefined where there is no relay, or an admin gives it. */
  turnSecret: string | undefined;
}

/**
 * Returns the configuration; throws one error that names every wrong variable. An empty one counts as not
 * set.
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
