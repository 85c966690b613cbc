import type { JoypodCli } from "./cli.ts";
import type { Credentials } from "./credentials.ts";

/**
 * Creates the demo player unless they can sign in. Returns the password, or a note if it was changed and is
 * therefore unknown.
 */
export async function ensurePlayer(
  cli: JoypodCli,
  baseUrl: string,
  player: Credentials["player"],
): Promise<string> {
  if (await canSignIn(baseUrl, player)) return player.password;
  if (!(await cli.createUser(player.email, player.name, player.password)))
    return "(unknown: it was changed on the account page)";
  if (!(await canSignIn(baseUrl, player)))
    throw new Error(`${player.email} was created but cannot sign in at ${baseUrl}.`);
  return player.password;
}

/** Signs in like a browser: gets a token with its cookie, then submits the form. */
async function canSignIn(baseUrl: string, { email, password }: Credentials["player"]): Promise<boolean> {
  const csrf = await fetch(`${baseUrl}/api/auth/csrf`, { signal: AbortSignal.timeout(10_000) });
  if (!csrf.ok)
    throw new Error(
      `${baseUrl} answered ${csrf.status} to GET /api/auth/csrf. Another program may be using the port.`,
    );
  const { csrfToken } = (await csrf.json()) as { csrfToken: string };
  const response = await fetch(`${baseUrl}/api/auth/callback/credentials`, {
    method: "POST",
    redirect: "manual",
    headers: { "content-type": "application/x-www-form-urlencoded", cookie: cookies(csrf), origin: baseUrl },
    body: new URLSearchParams({ email, password, csrfToken }),
    signal: AbortSignal.timeout(30_000),
  });
  await response.body?.cancel();
  return response.headers
    .getSetCookie()
    .some((cookie) => /^(__Secure-)?auth\.session-token=[^;]/.test(cookie));
}

function cookies(response: Response): string {
  return response.headers
    .getSetCookie()
    .map((cookie) => cookie.split(";")[0])
    .join("; ");
}
