import { isForbidden, isKubeError, isNotFound, isUnauthorized, isUnreachable } from "#kube/api/errors.ts";
import { messageOf } from "#runtime/errors.ts";

/**
 * How the program ends: 2 is a command line that it does not understand, 4 a thing that is not there, 5 a
 * right that is missing.
 */
export const exitCodes = { failed: 1, usage: 2, notFound: 4, forbidden: 5, interrupted: 130 } as const;

/** An error in words for an admin: what is wrong, and what to do about it. */
export class AdminError extends Error {
  override readonly name = "AdminError";
  readonly exitCode: number;

  constructor(message: string, exitCode: number = exitCodes.failed, options: { cause?: unknown } = {}) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

/** Returns any error as an admin is told of it. */
export function toAdminError(error: unknown): AdminError {
  if (error instanceof AdminError) return error;
  const message = messageOf(error);
  if (!isKubeError(error)) return new AdminError(message, exitCodes.failed, { cause: error });
  if (isUnauthorized(error))
    return new AdminError(
      "The cluster does not know you: sign in again as your kubeconfig wants it, then `kubectl auth whoami`.",
      exitCodes.forbidden,
      { cause: error },
    );
  if (isForbidden(error))
    return new AdminError(
      `You may not do this: ${message}. Ask for the right, or take another --context.`,
      exitCodes.forbidden,
      { cause: error },
    );
  if (isNotFound(error)) return new AdminError(message, exitCodes.notFound, { cause: error });
  if (isUnreachable(error))
    return new AdminError(
      `The cluster did not answer (${message}): look at --context and KUBECONFIG, and try \`kubectl version\`. Games that run go on meanwhile.`,
      exitCodes.failed,
      { cause: error },
    );
  return new AdminError(message, exitCodes.failed, { cause: error });
}
