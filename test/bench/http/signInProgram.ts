// Signs players in, all at once, in a process of its own: what that costs the client must not delay the one
// that measures.
import { z } from "zod";

/** What the program is sent; it replies to every message once it is done with it. */
const Order = z.object({
  origin: z.string(),
  users: z.array(z.object({ email: z.string(), password: z.string() })),
});

process.on("message", (message) => {
  const { origin, users } = Order.parse(message);
  Promise.all(users.map((user) => signIn(origin, user))).then(
    () => process.send?.({ error: undefined }),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});

async function signIn(
  origin: string,
  { email, password }: { email: string; password: string },
): Promise<void> {
  const csrf = await fetch(`${origin}/api/auth/csrf`);
  const { csrfToken } = (await csrf.json()) as { csrfToken: string };
  const response = await fetch(`${origin}/api/auth/callback/credentials`, {
    method: "POST",
    redirect: "manual",
    headers: { cookie: csrf.headers.getSetCookie()[0]?.split(";", 1)[0] ?? "" },
    body: new URLSearchParams({ email, password, csrfToken, json: "true" }),
  });
  if (response.status !== 200)
    throw new Error(`A sign-in was answered with ${response.status}: ${await response.text()}`);
}
