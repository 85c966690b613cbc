import { unauthorized } from "../errors.ts";

/**
 * Returns unauthorized for an error which means that the request's user is deleted, and any other error as it
 * is.
 */
export function translateUserGone(error: unknown): unknown {
  return isUserGone(error) ? unauthorized({ cause: error }) : error;
}

/**
 * Whether the error means that a row was to belong to a deleted user: the deletion came while a request of
 * theirs was under way.
 */
function isUserGone(error: unknown): boolean {
  if (!(error instanceof Error) || !("code" in error) || error.code !== foreignKeyViolation) return false;
  return (
    "constraint" in error &&
    typeof error.constraint === "string" &&
    error.constraint.endsWith("_user_id_fkey")
  );
}

const foreignKeyViolation = "23503";
