import { callbackUrlOf, signInPageUrl } from "../auth/callbackUrl.ts";
import type { AppContext } from "../routing/appContext.ts";
import { redirect } from "../routing/answers.ts";
import { publicRoute } from "../routing/route.ts";
import { answerUrl } from "./authAnswer.ts";

/** Addresses that the Auth.js client navigates to; the pages themselves are the web app's. A GET never signs in or out. */
export const authPageRoutes = [
  publicRoute({
    method: "GET", path: "/api/auth/signin", name: "showSignIn", summary: "Go to the sign-in page", limits: ["authReads"],
    answers: { 302: redirect("To the web's sign-in page.") }, errors: [],
    handle: ({ ctx }) => toSignInPage(ctx),
  }),
  publicRoute({
    method: "GET", path: "/api/auth/error", name: "showSignInError", summary: "Go to the sign-in page with an error", limits: ["authReads"],
    answers: { 302: redirect("To the web's sign-in page.") }, errors: [],
    handle: ({ ctx }) => toSignInPage(ctx),
  }),
  publicRoute({
    method: "GET", path: "/api/auth/signout", name: "showSignOut", summary: "Go to the home page", limits: ["authReads"],
    description: "A GET never signs out.",
    answers: { 302: redirect("To the home page.") }, errors: [],
    handle: ({ ctx, deps }) => answerUrl(ctx, false, `${deps.config.baseUrl}/`),
  }),
];

function toSignInPage(ctx: AppContext): void {
  const { config } = ctx.deps;
  const query = new URLSearchParams(ctx.querystring);
  const wished = query.get("callbackUrl");
  answerUrl(ctx, false, signInPageUrl(config.baseUrl, {
    error: word(query.get("error")),
    code: word(query.get("code")),
    callbackUrl: wished === null ? undefined : callbackUrlOf(wished, config),
  }));
}

/** Only a word is passed on: the page shows a sentence of its own for it. */
function word(text: string | null): string | undefined {
  return text !== null && /^[A-Za-z_]{1,64}$/.test(text) ? text : undefined;
}
