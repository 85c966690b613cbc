import { z } from "zod";
import { objectName } from "#contracts/crd/schema.ts";
import { TicketPublicKey } from "#contracts/streamTicket.ts";
import { authorityFile } from "#runtime/network/authorityFile.ts";
import { readEnvironment, type Environment } from "#runtime/program/readEnvironment.ts";
import type { StoreUser, MinioAdminOptions } from "./minioAdmin.ts";

/**
 * Trimmed, because a secret that was created from files ends with a line break. The programs trim their keys,
 * too.
 */
const some = z.string().trim().min(1);
/** Untrimmed, as MinIO reads it. */
const verbatim = z.string().min(1);
/** Comma-separated names. */
const nameList = z
  .string()
  .default("")
  .transform((text) => text.split(",").filter((name) => name !== ""));
const endpoint = z.url({ protocol: /^https?$/ });

const Variables = z.object({
  RELEASE_NAME: objectName,
  NODE_AGENT_SECRET: objectName,
  NODE_AGENT_NAMESPACE: objectName,
  NODE_AGENT_S3_ENDPOINT: endpoint,
  NODE_AGENT_S3_REGION: some,
  NODE_AGENT_S3_BUCKET: some,
  NODE_AGENT_S3_ACCESS_KEY: some.optional(),
  NODE_AGENT_S3_SECRET_KEY: some.optional(),
  NODE_AGENT_S3_CA_FILE: authorityFile,
  CONNECTION_TEST_SECRET: objectName.optional(),
  CONNECTION_TEST_PUBLIC_KEY: TicketPublicKey.optional(),
  RELAY_SECRET: objectName.optional(),
  RELAY_NAMESPACE: objectName.optional(),
  TURN_SECRET: some.optional(),
  PULL_SECRETS: nameList,
  PULL_SECRET_NAMESPACES: nameList,
  RELEASE_NAMESPACE: z.string().default(""),
  BUNDLED_STORES: z.enum(["true", "false"]).transform((word) => word === "true"),
});

const BundledVariables = z.object({
  NODE_AGENT_S3_ACCESS_KEY: some,
  NODE_AGENT_S3_SECRET_KEY: some,
  MINIO_ROOT_USER: verbatim,
  MINIO_ROOT_PASSWORD: verbatim,
  API_S3_ACCESS_KEY: some,
  API_S3_SECRET_KEY: some,
  API_POLICY: some.refine(isJson, "must be JSON"),
  NODE_AGENT_POLICY: some.refine(isJson, "must be JSON"),
});

/** How node agents reach the object store, by the keys of their secret. */
export interface NodeAgentStore {
  endpoint: string;
  region: string;
  bucket: string;
  accessKey: string | undefined;
  secretKey: string | undefined;
  "ca.crt": string | undefined;
}

/** The keys to distribute. */
export interface Config {
  release: string;
  /** Secret from which the node agents read their key. */
  nodeAgentSecret: { name: string; namespace: string };
  /**
   * Content of that secret. Without an access key the node agents use a web identity; without a CA they trust
   * the public CAs.
   */
  nodeAgentStore: NodeAgentStore;
  /**
   * Secret from which the responders of connection tests read the public key of the API's tickets, with that
   * key; undefined without responders.
   */
  connectionTest: { secret: { name: string; namespace: string }; publicKey: string } | undefined;
  /**
   * Secret from which the relay reads the secret of its credentials, with that secret; undefined without a
   * relay.
   */
  relay: { ref: { name: string; namespace: string }; secret: string } | undefined;
  /**
   * Image pull secrets for pods of other namespaces, with their source and target namespaces; empty if images
   * need none.
   */
  pullSecrets: { names: string[]; from: string; to: string[] };
  /** Undefined if the object store is not the bundled one. */
  minio: { admin: MinioAdminOptions; users: StoreUser[] } | undefined;
}

/** Returns the configuration. Throws an error that names every invalid variable. */
export function readConfig(environment: Environment): Config {
  const env = readEnvironment(Variables, environment, "handing out of store keys");
  const nodeAgentStore = {
    endpoint: env.NODE_AGENT_S3_ENDPOINT,
    region: env.NODE_AGENT_S3_REGION,
    bucket: env.NODE_AGENT_S3_BUCKET,
    accessKey: env.NODE_AGENT_S3_ACCESS_KEY,
    secretKey: env.NODE_AGENT_S3_SECRET_KEY,
    "ca.crt": env.NODE_AGENT_S3_CA_FILE?.certificates.join("\n"),
  };
  return {
    release: env.RELEASE_NAME,
    nodeAgentSecret: { name: env.NODE_AGENT_SECRET, namespace: env.NODE_AGENT_NAMESPACE },
    nodeAgentStore,
    connectionTest:
      env.CONNECTION_TEST_SECRET === undefined || env.CONNECTION_TEST_PUBLIC_KEY === undefined
        ? undefined
        : {
            secret: { name: env.CONNECTION_TEST_SECRET, namespace: env.NODE_AGENT_NAMESPACE },
            publicKey: env.CONNECTION_TEST_PUBLIC_KEY,
          },
    relay:
      env.RELAY_SECRET === undefined || env.RELAY_NAMESPACE === undefined || env.TURN_SECRET === undefined
        ? undefined
        : { ref: { name: env.RELAY_SECRET, namespace: env.RELAY_NAMESPACE }, secret: env.TURN_SECRET },
    pullSecrets: { names: env.PULL_SECRETS, from: env.RELEASE_NAMESPACE, to: env.PULL_SECRET_NAMESPACES },
    minio: env.BUNDLED_STORES ? readMinio(environment, nodeAgentStore) : undefined,
  };
}

function readMinio(
  environment: Environment,
  { endpoint: address, region }: NodeAgentStore,
): NonNullable<Config["minio"]> {
  const env = readEnvironment(BundledVariables, environment, "handing out of store keys");
  return {
    admin: { endpoint: address, region, accessKey: env.MINIO_ROOT_USER, secretKey: env.MINIO_ROOT_PASSWORD },
    users: [
      {
        program: "joypod-api",
        policy: env.API_POLICY,
        accessKey: env.API_S3_ACCESS_KEY,
        secretKey: env.API_S3_SECRET_KEY,
      },
      {
        program: "joypod-node-agent",
        policy: env.NODE_AGENT_POLICY,
        accessKey: env.NODE_AGENT_S3_ACCESS_KEY,
        secretKey: env.NODE_AGENT_S3_SECRET_KEY,
      },
    ],
  };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
