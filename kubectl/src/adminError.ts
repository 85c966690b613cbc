import { isForbidden, isKubeError, isNotFound, isUnauthorized, isUnreachable } from "#kube/api/errors.ts";
import { messageOf } from "#runtime/errors.ts";

/** Exit codes: 2 for invalid usage, 4 if an object was not found, 5 for missing permissions. */
export const exitCodes = { failed: 1, usage: 2, notFound: 4, forbidden: 5, interrupted: 130 } as const;

/** An error for an admin. The message says what is wrong and what to do. */
export class AdminError extends Error {
  override readonly name = "AdminError";
  readonly exitCode: number;

  constructor(message: string, exitCode: number = exitCodes.failed, options: { cause?: unknown } = {}) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

/** Converts any error to an AdminError. */
export function toAdminError(error: unknown): AdminError {
  if (error instanceof AdminError) return error;
  const message = messageOf(error);
  if (!isKubeError(error)) return new AdminError(message, exitCodes.failed, { cause: error });
  if (isUnauthorized(error))
    return new AdminError(
      "The cluster rejected your credentials. Sign in again and check with `kubectl auth whoami`.",
      exitCodes.forbidden,
      { cause: error },
    );
  if (isForbidden(error))
    return new AdminError(
      `Permission denied: ${message}. Request the permission, or use another --context.`,
      exitCodes.forbidden,
      { cause: error },
    );
  if (isNotFound(error)) return new AdminError(message, exitCodes.notFound, { cause: error });
  if (isUnreachable(error))
    return new AdminError(
      `The cluster did not respond (${message}). Check --context and KUBECONFIG, and try \`kubectl version\`. Running sessions are not affected.`,
      exitCodes.failed,
      { cause: error },
    );
  return new AdminError(message, exitCodes.failed, { cause: error });
}
