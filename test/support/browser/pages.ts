import type { Page } from "playwright-core";

/** Fills in the sign-in page and sends it off. */
export async function signInAs(page: Page, { email, password }: { email: string; password: string }): Promise<void> {
  await page.getByLabel("E-mail").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  // Until the response is there the button says so.
  await page.getByRole("button", { name: "Signing in…" }).waitFor({ state: "detached" });
}

/** The id in the address of a play page. */
export function sessionIdOf(page: Pick<Page, "url">): string {
  return decodeURIComponent(new URL(page.url()).pathname.split("/").at(-1) ?? "");
}
