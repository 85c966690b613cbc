import type { Page } from "playwright-core";
import type { TestUser } from "#test/factories/catalog.ts";
import type { TestApi } from "../http/api.ts";
import { openWindow, type TestWindow } from "./browser.ts";

/** Opens a page as a signed-in user, without going through the sign-in page. */
export async function openSignedIn(
  page: Page,
  api: Pick<TestApi, "url" | "signedInCookie">,
  user: TestUser,
  path: string,
): Promise<void> {
  await page.context().addCookies([{ ...(await api.signedInCookie(user)), url: api.url }]);
  await page.goto(path);
}

/** Fills in and submits the sign-in page. */
export async function signInAs(
  page: Page,
  { email, password }: { email: string; password: string },
): Promise<void> {
  await page.getByLabel("E-mail").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  // The button has this label until the response arrives.
  await page.getByRole("button", { name: "Signing in…" }).waitFor({ state: "detached" });
}

/**
 * Signs a user in as in another tab of the window: the cookies change, but the window's page does not notice.
 */
export async function signInBeside(
  { page, context }: Pick<TestWindow, "page" | "context">,
  user: { email: string; password: string },
): Promise<void> {
  const browser = context.browser();
  if (browser === null) throw new Error("The window has no browser.");
  const other = await openWindow(browser, {
    baseUrl: new URL(page.url()).origin,
    name: "the next player's window",
  });
  await other.page.goto("/");
  await signInAs(other.page, user);
  await other.page.getByRole("button", { name: "Sign out" }).waitFor();
  const cookies = await other.context.cookies();
  await other.close({ failed: false });
  const signedInAtMs = Date.now();
  // Every response renews the sign-in. One to a request of the former player that is still in flight would
  // put the former cookie back.
  page.on("response", (response) => {
    if (response.request().timing().startTime > signedInAtMs) return;
    context.addCookies(cookies).catch(() => undefined); // The window may have been closed.
  });
  await context.addCookies(cookies);
}

/** Presses Play on a game's page, and returns the id of the starting session. */
export async function pressPlay(page: Page): Promise<string> {
  await page.getByRole("button", { name: "Play", exact: true }).click();
  await page.waitForURL("**/play/**");
  return sessionIdOf(page);
}

/** Returns the id in the address of a play page. */
export function sessionIdOf(page: Pick<Page, "url">): string {
  return decodeURIComponent(new URL(page.url()).pathname.split("/").at(-1) ?? "");
}
