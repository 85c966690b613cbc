import { normalizeEmail } from "../auth/email.ts";
import { invalidRequest, notFound } from "../errors.ts";
import type { Queryable } from "../stores/queryable.ts";
import { listUsersOf, type FoundUser } from "./accountQueries.ts";

/**
 * Returns the user with that address or id, or the only one with that name. Players choose their names, so a
 * text that looks like an address is never taken as a name.
 *
 * @throws not_found, invalid_request when several users have the name
 */
export async function requireUserOf(db: Queryable, typed: string): Promise<FoundUser> {
  const email = normalizeEmail(typed);
  const users = await listUsersOf(db, { id: typed, email, name: typed.includes("@") ? undefined : typed });
  const user = users.find((each) => each.id === typed || each.email === email);
  if (user !== undefined) return user;
  const [first, ...others] = users;
  if (first === undefined) throw notFound(`There is no user ${typed}.`);
  if (others.length > 0)
    throw invalidRequest(
      `Several users have the name ${typed}. Use an address: ${users.map((each) => each.email).join(", ")}.`,
    );
  return first;
}
