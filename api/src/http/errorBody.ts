import { errors, type ErrorBody, type ErrorCode } from "#contracts/http/errors.ts";
import type { DomainError } from "../errors.ts";

/** Which request an error response answers. */
export interface RefusedRequest {
  /** Undefined where it could not be read. */
  path: string | undefined;
  requestId: string;
}

/** Returns the body of an error response: those of partner routes always have a message. */
export function errorBodyOf(
  { path, requestId }: RefusedRequest,
  {
    code,
    message,
    hasMessage,
    details,
    extra,
  }: Pick<DomainError, "code" | "message" | "hasMessage" | "details" | "extra">,
): ErrorBody {
  const isPartner = path?.startsWith("/api/partners") === true;
  // The specification gives the whole body; forms alone add where the browser would have been sent.
  if (code === "unauthorized" && !isPartner) return { error: code, ...extra };
  const needsMessage = hasMessage || isPartner || code === "internal_error";
  // Partners' error responses have the form of the specification; the id is in a header. A fault of ours must
  // be reportable.
  const needsRequestId = !isPartner || code === "internal_error";
  return {
    error: code,
    ...(needsMessage && { message: hasMessage ? message : (sentences[code] ?? "The request was refused.") }),
    ...(needsRequestId && { requestId }),
    ...(details !== undefined && { details }),
    ...extra,
  };
}

const sentences: Partial<Record<ErrorCode, string>> = {
  internal_error: "Something went wrong on our side; tell us the requestId.",
  unauthorized: "A valid credential is required.",
  invalid_request: "This is no valid HTTP request: send a Host header, and an address that can be read.",
  headers_too_large: errors.headers_too_large.meaning,
};
