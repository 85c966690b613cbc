import { z } from "zod";
import { authorityFile } from "#runtime/network/authorityFile.ts";
import type { WebIdentity } from "./webIdentityProvider.ts";

/** Address and credentials of the object store. */
export interface ObjectStoreAccess {
  endpoint: string;
  region: string;
  /** Empty with a web identity. */
  accessKey: string;
  secretKey: string;
  /** Web identity whose temporary keys replace the access key. */
  webIdentity?: WebIdentity | undefined;
  /** CA certificates of the endpoint in PEM; undefined for public authorities. */
  authorities?: string[] | undefined;
}

const httpAddress = (error: string) => z.url({ protocol: /^https?$/, error });
const inChart = (key: string): string =>
  `in the chart it is key ${key} of the secret that s3.existingSecret names`;

/** The variables of all programs that use the object store. Web identities use the variable names of AWS. */
export const objectStoreVariables = {
  S3_ENDPOINT: httpAddress(`must be an http or https address; ${inChart("endpoint")}`),
  S3_REGION: z
    .string(`must be the bucket's region; ${inChart("region")}`)
    .trim()
    .min(1)
    .default("us-east-1"),
  S3_BUCKET: z
    .string()
    .trim()
    .min(3, `must be the name of a bucket; ${inChart("bucket")}`)
    .max(63)
    .default("joypod"),
  // Values of a Secret that was created from files end with a line break.
  S3_ACCESS_KEY: z.string().trim().default(""),
  S3_SECRET_KEY: z.string().trim().default(""),
  S3_CA_FILE: authorityFile,
  AWS_WEB_IDENTITY_TOKEN_FILE: z.string().trim().default(""),
  AWS_ROLE_ARN: z.string().trim().default(""),
  AWS_ROLE_SESSION_NAME: z
    .string()
    .trim()
    .regex(/^[\w+=,.@-]{2,64}$/, "must be 2 to 64 letters, digits or +=,.@-_")
    .default("joypod"),
  AWS_ENDPOINT_URL_STS: z.union([z.literal(""), httpAddress("must be an http or https address")]).default(""),
};

type ObjectStoreVariables = z.infer<z.ZodObject<typeof objectStoreVariables>>;

/** Adds an issue for each inconsistent variable. */
export function checkObjectStore(env: ObjectStoreVariables, context: z.core.$RefinementCtx): void {
  const refuse = (name: keyof ObjectStoreVariables, message: string): void =>
    context.addIssue({ code: "custom", path: [name], message });
  const hasToken = env.AWS_WEB_IDENTITY_TOKEN_FILE !== "";
  for (const [name, key, other] of [
    ["S3_ACCESS_KEY", "accessKey", "S3_SECRET_KEY"],
    ["S3_SECRET_KEY", "secretKey", "S3_ACCESS_KEY"],
  ] as const) {
    if (env[name] === "" && (!hasToken || env[other] !== "")) {
      refuse(
        name,
        `must be set; ${inChart(key)}. To do without access keys, set AWS_WEB_IDENTITY_TOKEN_FILE (s3.webIdentity) and neither of the two`,
      );
    }
  }
  if (env.S3_CA_FILE !== undefined && env.S3_ENDPOINT.startsWith("http:"))
    refuse("S3_CA_FILE", "is set, and S3_ENDPOINT does not use TLS: it must begin with https://");
}

/** Returns the settings of the object store. */
export function objectStoreAccessOf(env: ObjectStoreVariables): ObjectStoreAccess & { bucket: string } {
  const { S3_ACCESS_KEY: accessKey, S3_SECRET_KEY: secretKey } = env;
  const authorities = env.S3_CA_FILE?.certificates;
  const access = {
    endpoint: env.S3_ENDPOINT,
    region: env.S3_REGION,
    bucket: env.S3_BUCKET,
    accessKey,
    secretKey,
    authorities,
  };
  if (accessKey !== "") return access;
  const endpoint = env.AWS_ENDPOINT_URL_STS === "" ? defaultTokenService(env) : env.AWS_ENDPOINT_URL_STS;
  const role = env.AWS_ROLE_ARN === "" ? undefined : env.AWS_ROLE_ARN;
  return {
    ...access,
    webIdentity: {
      tokenFile: env.AWS_WEB_IDENTITY_TOKEN_FILE,
      role,
      roleSession: env.AWS_ROLE_SESSION_NAME,
      endpoint,
      authorities,
    },
  };
}

/**
 * Returns the address of the token service. AWS has one per region; MinIO and similar servers use the same
 * address for both.
 */
function defaultTokenService({ S3_ENDPOINT: endpoint, S3_REGION: region }: ObjectStoreVariables): string {
  const [, suffix] = /(?:^|\.)(amazonaws\.com(?:\.cn)?)$/.exec(new URL(endpoint).hostname) ?? [];
  return suffix === undefined ? endpoint : `https://sts.${region}.${suffix}`;
}
