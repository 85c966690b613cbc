import { z } from "zod";
import { readEnvironment, type Environment } from "#runtime/program/readEnvironment.ts";
import { checkObjectStore, objectStoreAccessOf, objectStoreVariables } from "#s3/objectStoreVariables.ts";
import { databaseVariables, mailVariables, Variables } from "../variables.ts";
import { checkMail, mailSettingsOf } from "../mail/mailSettings.ts";
import { checkDatabaseAuthority, checkRedisAuthority, databaseAddress } from "../stores/storeSettings.ts";

const { shape } = Variables;

/**
 * Returns the command line's part of the API's environment: the database, the pepper for new passwords, and
 * Redis for notifying of ended sign-ins. Throws an error that names every invalid variable.
 */
export function readCliConfig(environment: Environment) {
  const env = readEnvironment(
    z
      .object({
        ...databaseVariables,
        PASSWORD_PEPPER: shape.PASSWORD_PEPPER.optional(),
        BCRYPT_COST: shape.BCRYPT_COST,
        REDIS_URL: shape.REDIS_URL.optional(),
        REDIS_CA_FILE: shape.REDIS_CA_FILE,
        TOKEN_LIFETIME_SECONDS: shape.TOKEN_LIFETIME_SECONDS,
      })
      .superRefine(checkDatabaseAuthority)
      .superRefine(checkRedisAuthority),
    environment,
    "command line",
  );
  return {
    postgres: {
      url: databaseAddress(env.DATABASE_URL, env.DATABASE_CA_FILE),
      poolSize: 2,
      timeoutMs: env.DATABASE_TIMEOUT_MS,
    },
    pepper: env.PASSWORD_PEPPER,
    bcryptCost: env.BCRYPT_COST,
    redis:
      env.REDIS_URL === undefined
        ? undefined
        : { url: env.REDIS_URL, authorities: env.REDIS_CA_FILE?.certificates },
    tokenLifetimeSeconds: env.TOKEN_LIFETIME_SECONDS,
  };
}

/**
 * Returns the additional configuration for players' saves. Throws an error that names every invalid variable.
 */
export function readCliSavesConfig(environment: Environment) {
  const { S3_TIMEOUT_MS, SAVE_RETENTION_DAYS, SAVE_VERSIONS_KEPT, SAVE_DAILY_VERSIONS_DAYS } = shape;
  const env = readEnvironment(
    z
      .object({
        ...objectStoreVariables,
        S3_TIMEOUT_MS,
        SAVE_RETENTION_DAYS,
        SAVE_VERSIONS_KEPT,
        SAVE_DAILY_VERSIONS_DAYS,
      })
      .superRefine(checkObjectStore),
    environment,
    "command line",
  );
  return {
    objectStore: { ...objectStoreAccessOf(env), timeoutMs: env.S3_TIMEOUT_MS },
    saves: {
      versionsKept: env.SAVE_VERSIONS_KEPT,
      dailyVersionsDays: env.SAVE_DAILY_VERSIONS_DAYS,
      retentionMs: env.SAVE_RETENTION_DAYS * 86_400_000,
    },
    /** Admins may upload files over slow connections. */
    partner: { uploadPace: { idleMs: 600_000, windowMs: 600_000, minBytesPerWindow: 1 } },
  };
}

/**
 * Returns the additional configuration for one-time links. Throws an error that names every invalid variable.
 */
export function readCliLinksConfig(environment: Environment) {
  const env = readEnvironment(
    z.object({ BASE_URL: shape.BASE_URL, ...mailVariables }).superRefine(checkMail),
    environment,
    "command line",
  );
  return { baseUrl: env.BASE_URL, signUp: env.SIGN_UP, mail: mailSettingsOf(env) };
}
