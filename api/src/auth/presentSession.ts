import type { AuthSession } from "#contracts/http/auth.ts";
import type { User } from "./userQueries.ts";

/** Returns the session as pages see it; a missing picture is the configured one, or empty. */
export function presentAuthSession(
  { id, name, email, image }: User,
  expiresAt: Date,
  defaultAvatarUrl: string,
): AuthSession {
  return { user: { id, name, email, image: image ?? defaultAvatarUrl }, expires: expiresAt.toISOString() };
}
