// Signs players in concurrently in a separate process, so that the client's work does not delay the measuring
// process.
import { z } from "zod";

/** A message to the program, which replies to each once it is done. */
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
