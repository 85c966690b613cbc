/** Whether the error means that a row was to belong to a deleted user: the deletion came while a request of theirs was under way. */
export function isUserGone(error: unknown): boolean {
  if (!(error instanceof Error) || !("code" in error) || error.code !== foreignKeyViolation) return false;
  return "constraint" in error && typeof error.constraint === "string" && error.constraint.endsWith("_user_id_fkey");
}

const foreignKeyViolation = "23503";
