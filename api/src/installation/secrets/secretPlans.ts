import { randomBytes } from "node:crypto";
import { ticketPublicKeyOf, ticketSigningKey } from "#contracts/streamTicket.ts";
import type { Config } from "./config.ts";

/** Values of a secret by key. */
export type SecretValues = Readonly<Record<string, string>>;

/** A secret that the release needs. */
export interface SecretPlan {
  name: string;
  /** Component label of the secret. */
  component: string;
  /** Returns the value of every key: existing values, derived values, and new random values for the rest. */
  complete: (kept: SecretValues) => SecretValues;
}

const bucket = "joypod";
const region = "us-east-1";

/** Returns the secrets that the release creates. Their formats are those of earlier chart versions. */
export function secretPlans({
  release,
  namespace,
  apiSecret,
  operatorSecret,
  connectionTestSecret,
  minioSecret,
  turnSecret,
}: Config): SecretPlan[] {
  const host = (store: string): string => `${release}-${store}.${namespace}.svc`;
  const plans: SecretPlan[] = [];
  if (apiSecret !== undefined) plans.push(apiPlan(apiSecret));
  if (operatorSecret !== undefined) plans.push(operatorPlan(operatorSecret));
  if (connectionTestSecret !== undefined) plans.push(connectionTestPlan(connectionTestSecret));
  if (turnSecret !== undefined) plans.push(turnPlan(turnSecret));
  if (minioSecret !== undefined) {
    const endpoint = `http://${host("minio")}:9000`;
    plans.push(
      databasePlan(
        `${release}-postgres`,
        "postgres",
        (password) => `postgresql://joypod:${password}@${host("postgres")}:5432/joypod`,
      ),
      databasePlan(`${release}-redis`, "redis", (password) => `redis://:${password}@${host("redis")}:6379/0`),
      storeKeyPlan(minioSecret, "minio", endpoint),
      storeKeyPlan(`${release}-api-store`, "api", endpoint),
      storeKeyPlan(`${release}-node-agent-store`, "node-agent", endpoint),
    );
  }
  return plans;
}

function apiPlan(name: string): SecretPlan {
  return {
    name,
    component: "api",
    complete: (kept) => ({
      signingKeys: `first:${randomBytes(48).toString("base64")}`,
      passwordPepper: randomBytes(48).toString("base64"),
      ...kept,
    }),
  };
}

function operatorPlan(name: string): SecretPlan {
  return {
    name,
    component: "operator",
    complete: (kept) => ({ ticketSecret: randomBytes(48).toString("base64"), ...kept }),
  };
}

/** A key pair: the API signs, and the game nodes hold the public half. */
function connectionTestPlan(name: string): SecretPlan {
  return {
    name,
    component: "connection-test",
    complete: (kept) => {
      const { signingKey = randomBytes(32).toString("base64") } = kept;
      return {
        signingKey,
        publicKey: ticketPublicKeyOf(ticketSigningKey(Buffer.from(signingKey, "base64"))),
        ...kept,
      };
    },
  };
}

function turnPlan(name: string): SecretPlan {
  return {
    name,
    component: "turn",
    complete: (kept) => ({ secret: randomBytes(48).toString("base64"), ...kept }),
  };
}

function databasePlan(name: string, component: string, urlOf: (password: string) => string): SecretPlan {
  return {
    name,
    component,
    complete: (kept) => {
      const { password = randomPassword(24) } = kept;
      return { password, url: urlOf(password), ...kept };
    },
  };
}

/**
 * A key of the bundled MinIO. Its name is as secret as the key itself, because some versions of MinIO let in
 * whoever knows the name. Releases that were installed with a well-known name keep it (docs/stores.md).
 */
function storeKeyPlan(name: string, component: string, endpoint: string): SecretPlan {
  return {
    name,
    component,
    complete: (kept) => ({
      endpoint,
      region,
      bucket,
      accessKey: randomBytes(10).toString("hex"),
      secretKey: randomPassword(30),
      ...kept,
    }),
  };
}

/** Returns a random password of characters that need no escaping in a URL. */
function randomPassword(bytes: number): string {
  return randomBytes(bytes).toString("base64url");
}
