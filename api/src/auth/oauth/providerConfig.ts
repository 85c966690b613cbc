import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { z } from "zod";
import { messageOf } from "#runtime/errors.ts";

const address = z.url({ protocol: /^https?$/, error: "must be an https address" }).max(2048);
const scope = z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,128}$/, "must be one scope without spaces");
/** The path of a field in the profile, such as `account.id`. */
const fieldPath = z
  .string()
  .regex(/^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+){0,4}$/, "must be a field's name, or names joined by dots");

const common = {
  /** Part of addresses: `/api/auth/callback/<id>`. */
  id: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, "must be lower-case letters, digits and '-', at most 32")
    .refine((id) => id !== "credentials", "is the name of the sign-in by password"),
  /** Text of the button. */
  name: z.string().trim().min(1).max(64),
  clientId: z.string().min(1).max(512),
  clientSecret: z.string().min(1).max(4096).optional(),
  /** File that contains the secret, relative to this configuration. */
  clientSecretFile: z.string().min(1).optional(),
  /** How the secret is sent to the token endpoint. */
  clientAuthentication: z.enum(["basic", "post"]).default("basic"),
  /** Whether a verified address of this provider can sign in as an existing account with that address. */
  trustsEmail: z.boolean().default(false),
  /** Allows plain http, only for a provider on the loopback interface. */
  allowInsecure: z.boolean().default(false),
};

const OidcProvider = z.strictObject({
  ...common,
  type: z.literal("oidc"),
  issuer: address,
  scopes: z
    .array(scope)
    .max(32)
    .default(["openid", "email", "profile"])
    .refine((scopes) => scopes.includes("openid"), "must include openid"),
});

/**
 * How to read the account's addresses if the profile does not say which are verified. The field names default
 * to GitHub's.
 */
const Emails = z.strictObject({
  endpoint: address,
  /** Path of the list in the response; undefined when the response is the list. */
  list: fieldPath.optional(),
  email: fieldPath.default("email"),
  verified: fieldPath.default("verified"),
  primary: fieldPath.default("primary"),
});

const OAuthProvider = z.strictObject({
  ...common,
  type: z.literal("oauth"),
  /** Name under which identities are stored; it is never requested. */
  issuer: address,
  /** Issuer in the provider's responses, if they contain one; defaults to `issuer`. */
  responseIssuer: address.optional(),
  authorizationEndpoint: address,
  tokenEndpoint: address,
  userinfoEndpoint: address,
  scopes: z.array(scope).max(32).default([]),
  /** Read after the profile, whose own address is then ignored. */
  emails: Emails.optional(),
  /** Fields of the profile. Without `emailVerified` its address counts as unverified. */
  userinfo: z.strictObject({
    subject: fieldPath,
    email: fieldPath.optional(),
    emailVerified: fieldPath.optional(),
    name: fieldPath.optional(),
    image: fieldPath.optional(),
  }),
});

const ProvidersFile = z.strictObject({
  providers: z.array(z.discriminatedUnion("type", [OidcProvider, OAuthProvider])).max(16),
});

/** An external provider, with its secret loaded. */
export type ProviderConfig = z.infer<typeof OidcProvider> | z.infer<typeof OAuthProvider>;
/** A plain OAuth provider. */
export type OAuthProviderConfig = z.infer<typeof OAuthProvider>;

/** Reads the providers' file. Throws an error that names every invalid field and never contains a secret. */
export function readProviders(file: string): ProviderConfig[] {
  const parsed = ProvidersFile.safeParse(parseJson(readText(file)));
  if (!parsed.success) throw new Error(`is wrong: ${sentencesOf(parsed.error)}`);
  const { providers } = parsed.data;
  const ids = providers.map(({ id }) => id);
  const twice = ids.find((id, index) => ids.indexOf(id) !== index);
  if (twice !== undefined) throw new Error(`has the id ${twice} twice`);
  return providers.map((provider) => withSecret(checkedAddresses(provider), dirname(file)));
}

/** Variable with the name of the providers' file; parses to the providers. */
export const providersFile = z
  .string()
  .trim()
  .default("")
  .transform((file, context): ProviderConfig[] => {
    if (file === "") return [];
    try {
      return readProviders(file);
    } catch (error) {
      context.addIssue(messageOf(error));
      return z.NEVER;
    }
  });

function checkedAddresses(provider: ProviderConfig): ProviderConfig {
  const called = provider.type === "oidc" ? [provider.issuer] : endpointsOf(provider);
  for (const text of called) {
    const url = new URL(text);
    if (url.username !== "" || url.hash !== "")
      throw new Error(`has an address with a user name or a fragment for ${provider.id}: ${url.origin}`);
    if (isProviderAddress(url, provider)) continue;
    throw new Error(
      `has a plain http address for ${provider.id}: ${url.origin} must be https (allowInsecure is for 127.0.0.1 and localhost only)`,
    );
  }
  return provider;
}

function endpointsOf({
  authorizationEndpoint,
  tokenEndpoint,
  userinfoEndpoint,
  emails,
}: OAuthProviderConfig): string[] {
  return [
    authorizationEndpoint,
    tokenEndpoint,
    userinfoEndpoint,
    ...(emails === undefined ? [] : [emails.endpoint]),
  ];
}

/** Loads the secret. A client without one is public: its redirect address and PKCE protect it. */
function withSecret(provider: ProviderConfig, folder: string): ProviderConfig {
  const { clientSecretFile, clientSecret } = provider;
  if (clientSecretFile === undefined) return provider;
  if (clientSecret !== undefined)
    throw new Error(`has both clientSecret and clientSecretFile for ${provider.id}: keep one`);
  const secret = readText(resolve(folder, clientSecretFile)).trim();
  if (secret === "") throw new Error(`names an empty clientSecretFile for ${provider.id}`);
  return { ...provider, clientSecret: secret };
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    throw new Error(`names a file that cannot be read: ${file}`, { cause });
  }
}

/** Parses JSON. The parser's message would quote a part of the file. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error("is not valid JSON");
  }
}

function sentencesOf({ issues }: z.ZodError): string {
  return issues
    .slice(0, 20)
    .map(({ path, message }) => `${path.join(".")}: ${message}`)
    .join("; ");
}

/**
 * Returns whether a provider can be reached at this address: by https or, if allowed, by http on the loopback
 * interface.
 */
function isProviderAddress(url: URL, { allowInsecure }: { allowInsecure: boolean }): boolean {
  return url.protocol === "https:" || (allowInsecure && url.protocol === "http:" && isLoopback(url));
}

/** Throws a TypeError for any other address, whether it comes from the configuration or from the provider. */
export function requireProviderAddress(url: URL, options: { allowInsecure: boolean }): void {
  if (!isProviderAddress(url, options))
    throw new TypeError(`A provider names an address that is not https: ${url.origin}`);
}

function isLoopback({ hostname }: URL): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}
