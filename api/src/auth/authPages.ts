import { sentenceForSignIn } from "#contracts/http/auth.ts";
import { callbackUrlOf, signInPageUrl } from "./callbackUrl.ts";
import { presentSignInPage, presentSignOutPage, type AuthPage } from "./page.ts";
import { media, redirect } from "../http/responses.ts";
import type { AuthContext, AuthDeps } from "./authDeps.ts";
import type { AppContext } from "../http/appContext.ts";
import { publicRouteFor } from "../http/route.ts";
import { respondWithUrl } from "./authResponse.ts";
import { csrfTokenFor } from "./browserSignIn.ts";

const route = publicRouteFor<AuthDeps>();
const page = media(["text/html"], "A page without scripts, where no other sign-in page is configured.", {
  optionalHeaders: ["Set-Cookie"],
});

/** Addresses that the Auth.js client navigates to. A GET never signs in or out. */
export const authPageRoutes = [
  route({
    method: "GET",
    path: "/api/auth/signin",
    name: "showSignIn",
    summary: "Go to the sign-in page",
    limits: ["authReads"],
    responses: { 200: page, 302: redirect("To the configured sign-in page.") },
    errors: [],
    handle: ({ ctx }) => showSignIn(ctx),
  }),
  route({
    method: "GET",
    path: "/api/auth/error",
    name: "showSignInError",
    summary: "Go to the sign-in page with an error",
    limits: ["authReads"],
    responses: { 200: page, 302: redirect("To the configured sign-in page.") },
    errors: [],
    handle: ({ ctx }) => showSignIn(ctx),
  }),
  route({
    method: "GET",
    path: "/api/auth/signout",
    name: "showSignOut",
    summary: "Go to where one can sign out",
    limits: ["authReads"],
    description: "A GET never signs out.",
    responses: { 200: page, 302: redirect("To the home page, where a sign-in page is configured.") },
    errors: [],
    handle: ({ ctx, deps: { config } }) => {
      const home = callbackUrlOf(undefined, config);
      if (config.signInPageUrl === undefined)
        respondWithPage(ctx, presentSignOutPage({ csrfToken: csrfTokenFor(ctx), callbackUrl: home }));
      else respondWithUrl(ctx, false, home);
    },
  }),
];

function showSignIn(ctx: AuthContext): void {
  const { config, oauthProviders } = ctx.deps;
  const query = new URLSearchParams(ctx.querystring);
  const error = word(query.get("error"));
  const code = word(query.get("code"));
  const wished = query.get("callbackUrl") ?? undefined;
  if (config.signInPageUrl !== undefined) {
    respondWithUrl(
      ctx,
      false,
      signInPageUrl(config, {
        error,
        code,
        callbackUrl: wished === undefined ? undefined : callbackUrlOf(wished, config),
      }),
    );
    return;
  }
  respondWithPage(
    ctx,
    presentSignInPage({
      csrfToken: csrfTokenFor(ctx),
      callbackUrl: callbackUrlOf(wished, config),
      sentence: error === undefined ? undefined : sentenceForSignIn(error, code ?? null),
      providers: [...oauthProviders.values()],
      formTargets: formTargetsOf(ctx),
    }),
  );
}

/** Pages to return to, and providers, which send the browser on through whatever addresses of theirs. */
function formTargetsOf({ deps: { config, oauthProviders } }: AuthContext): string[] {
  const targets = [...config.allowedOrigins].filter((origin) => origin !== config.baseUrl);
  if (oauthProviders.size > 0) targets.push("https:");
  if ([...oauthProviders.values()].some(({ allowsInsecure }) => allowsInsecure))
    targets.push("http://127.0.0.1:*", "http://localhost:*");
  return targets;
}

function respondWithPage(ctx: AppContext, { html, policy }: AuthPage): void {
  ctx.set("Content-Security-Policy", policy);
  ctx.type = "html";
  ctx.body = html;
}

/** Only a word is passed on: the page shows a sentence of its own for it. */
function word(text: string | null): string | undefined {
  return text !== null && /^[A-Za-z_]{1,64}$/.test(text) ? text : undefined;
}
