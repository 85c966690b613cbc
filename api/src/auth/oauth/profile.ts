import { z } from "zod";
import { limits } from "#contracts/limits.ts";
import { isEmail, normalizeEmail } from "../email.ts";
import type { OAuthProviderConfig } from "./providerConfig.ts";

type EmailsConfig = NonNullable<OAuthProviderConfig["emails"]>;

/**
 * The user who signed in at a provider, with trusted data only. `issuer` and `subject` together identify the
 * account there.
 */
export interface Profile {
  issuer: string;
  subject: string;
  /** The normalised e-mail address; undefined if it is missing or invalid. */
  email: string | undefined;
  isEmailVerified: boolean;
  name: string | undefined;
  image: string | undefined;
}

const subject = z
  .string()
  .min(1)
  .max(255)
  .regex(/^[^\p{Cc}]+$/u);
const imageLengthMax = 2048;

/**
 * Returns the profile from the claims of an ID token or of the userinfo response. Throws without a usable
 * subject.
 */
export function profileOfClaims(issuer: string, claims: Readonly<Record<string, unknown>>): Profile {
  return {
    issuer,
    subject: subject.parse(claims["sub"]),
    ...emailOf(claims["email"], claims["email_verified"]),
    name: nameOf(claims["name"]),
    image: imageOf(claims["picture"]),
  };
}

/**
 * Returns the profile from the userinfo response of a plain OAuth provider, by the configured field names.
 * `addresses` is the provider's list of addresses, if it has one. Throws without a usable subject.
 */
export function profileOfUserinfo(
  { issuer, userinfo, emails }: OAuthProviderConfig,
  response: unknown,
  addresses?: unknown,
): Profile {
  const at = (path: string | undefined): unknown => fieldAt(response, path);
  const id = at(userinfo.subject);
  return {
    issuer,
    subject: subject.parse(Number.isSafeInteger(id) ? String(id) : id),
    ...(emails === undefined
      ? emailOf(at(userinfo.email), at(userinfo.emailVerified))
      : primaryEmailOf(emails, addresses)),
    name: nameOf(at(userinfo.name)),
    image: imageOf(at(userinfo.image)),
  };
}

/**
 * Returns the account's primary address. Other addresses may still be listed after somebody else has taken
 * them over.
 */
function primaryEmailOf(
  { list, email, verified, primary }: EmailsConfig,
  response: unknown,
): Pick<Profile, "email" | "isEmailVerified"> {
  const addresses: unknown = list === undefined ? response : fieldAt(response, list);
  if (!Array.isArray(addresses)) throw new TypeError("The provider's list of addresses is not a list.");
  const entry: unknown = addresses.find((address: unknown) => fieldAt(address, primary) === true);
  return emailOf(fieldAt(entry, email), fieldAt(entry, verified));
}

/** Only the boolean counts, because the string `"false"` is truthy. */
function emailOf(email: unknown, verified: unknown): Pick<Profile, "email" | "isEmailVerified"> {
  const normalized =
    typeof email === "string" ? normalizeEmail(email.slice(0, limits.auth.emailMaxLength + 1)) : "";
  return isEmail(normalized)
    ? { email: normalized, isEmailVerified: verified === true }
    : { email: undefined, isEmailVerified: false };
}

function nameOf(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  const name = value
    .toWellFormed()
    .replaceAll(/\p{Cc}+/gu, " ")
    .trim()
    .slice(0, limits.auth.nameMaxLength)
    .toWellFormed();
  return name === "" ? undefined : name;
}

function imageOf(value: unknown): string | undefined {
  if (typeof value !== "string" || value.length > imageLengthMax || !URL.canParse(value)) return undefined;
  const url = new URL(value);
  return url.protocol === "https:" && url.username === "" && url.password === "" ? url.href : undefined;
}

function fieldAt(value: unknown, path: string | undefined): unknown {
  return path === undefined ? undefined : valueAt(value, path.split("."));
}

function valueAt(value: unknown, [name, ...rest]: string[]): unknown {
  if (name === undefined) return value;
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return valueAt((value as Record<string, unknown>)[name], rest);
}
