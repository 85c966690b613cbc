import { z } from "zod";
import { ErrorDetail, ServerLack, errors, type ErrorCode } from "#contracts/http/errors.ts";
import type { AccessName } from "../access.ts";
import type { Route } from "../route.ts";

/**
 * The shape of an error response differs by who is refused: partners always get a message, forms always an
 * address.
 */
export type ErrorKind = Exclude<AccessName, "viewer"> | "form";

/** How the route refuses: by its credential, or as the sign-in client reads it. */
export function errorKindOf({ access, schemas }: Route): ErrorKind {
  if (schemas.isForm === true) return "form";
  return access === "viewer" ? "user" : access;
}

/** Every code that the route can refuse with, those that all of its kind have included. */
export function errorCodesOf(route: Route): ErrorCode[] {
  const codes = new Set<ErrorCode>([...route.errors, ...accessCodes(route), "internal_error"]);
  if (route.limits.length > 0 || (route.innerLimits ?? []).length > 0) codes.add("rate_limited");
  if (route.schemas.params !== undefined) codes.add("not_found");
  if (route.schemas.query !== undefined || route.access !== "public") codes.add("invalid_request");
  if (route.schemas.body !== undefined) bodyCodes.forEach((code) => codes.add(code));
  return (Object.keys(errors) as ErrorCode[]).filter((code) => codes.has(code));
}

/** The same by status, as responses are. */
export function errorCodesByStatus(route: Route): Map<number, ErrorCode[]> {
  return Map.groupBy(errorCodesOf(route), (code) => errors[code].status);
}

const bodyCodes: readonly ErrorCode[] = [
  "invalid_request",
  "request_timeout",
  "payload_too_large",
  "unsupported_media_type",
];

function accessCodes({ access, method }: Route): ErrorCode[] {
  if (access === "public") return [];
  // Another site's page can send a player's cookie, but not a partner's key.
  return access === "partner" || method !== "GET"
    ? ["unauthorized", "forbidden", "unavailable"]
    : ["unauthorized", "unavailable"];
}

/**
 * Returns the body of an error response with one of these codes; a missing sign-in is told by its code alone,
 * as the specification has it.
 */
export function errorBody(kind: ErrorKind, codes: readonly ErrorCode[]): z.ZodType {
  const message = z
    .string()
    .min(1)
    .meta({
      description: "For a person: what is wrong and what can be done.",
      examples: [errors[codes[0] ?? "invalid_request"].meaning],
    });
  const isBare = kind !== "partner" && codes.every((code) => code === "unauthorized");
  return z
    .object({
      error: z.enum(codes),
      ...(!isBare && { message: kind === "partner" ? message : message.optional() }),
      ...(!isBare && hasRequestId(kind, codes) && { requestId: requestId.optional() }),
      ...(codes.some((code) => detailed.has(code)) && { details: z.array(ErrorDetail).optional() }),
      ...(codes.includes("session_active") && { sessionId: activeSessionId.optional() }),
      ...(codes.includes("unreadable_save") && { versionId: earlierVersionId.optional() }),
      ...(codes.includes("no_servers") && { lack: serverLack.optional() }),
      ...(kind === "form" && { url: formUrl }),
    })
    .meta({ id: `${errorName(kind, codes).replace(/Error$/, "")}Error` });
}

/** Name of the reusable response, such as `PartnerNotFound`. */
export function errorName(kind: ErrorKind, codes: readonly ErrorCode[]): string {
  return kindNames[kind] + codes.map(pascalCase).join("Or");
}

/** Partners read the id from `X-Request-Id`; a fault of ours names it in every body. */
function hasRequestId(kind: ErrorKind, codes: readonly ErrorCode[]): boolean {
  return kind !== "partner" || codes.includes("internal_error");
}

/** Errors that name the fields, or the entry of an archive, that they are about. */
const detailed: ReadonlySet<ErrorCode> = new Set(["invalid_request", "invalid_archive"]);

const kindNames: Record<ErrorKind, string> = { public: "Public", user: "", partner: "Partner", form: "Form" };

const requestId = z
  .string()
  .meta({ description: "The same as `X-Request-Id`.", examples: ["0123456789abcdefghjk"] });
const activeSessionId = z.string().meta({
  description: "With `session_active`: the session that is in the way.",
  examples: ["gs-7k2m9q4x1v8c"],
});
const earlierVersionId = z.string().meta({
  description: "With `unreadable_save`: the newest version before it that can be read.",
  examples: ["0f5b3c1e-8a51-4f0e-9a58-1a3a0b4d7c11"],
});
const serverLack = ServerLack.meta({
  description:
    "With `no_servers`: what no game server has left; absent where all are taken, or none can be reached.",
  examples: ["memory"],
});
const formUrl = z.url().meta({
  description: "Where the browser would have been sent.",
  examples: ["https://joypod.example/signin?error=CredentialsSignin&code=credentials"],
});

function pascalCase(code: string): string {
  return code
    .split("_")
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join("");
}
