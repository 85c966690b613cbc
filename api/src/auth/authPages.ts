import { sentenceForSignIn } from "#contracts/http/auth.ts";
import { callbackUrlOf, signInPageUrl } from "./callbackUrl.ts";
import { media, redirect } from "../http/responses.ts";
import { type AuthContext, type AuthDeps, csrfTokenFor } from "./browserSignIn.ts";
import type { AppContext } from "../http/appContext.ts";
import { publicRouteFor } from "../http/route.ts";
import { respondWithUrl } from "./authResponse.ts";
import { createHash } from "node:crypto";
import { limits } from "#contracts/limits.ts";

const route = publicRouteFor<AuthDeps>();
const pageResponse = media(
  ["text/html"],
  "A page without scripts, unless another sign-in page is configured.",
  {
    optionalHeaders: ["Set-Cookie"],
  },
);

/** Addresses that the Auth.js client opens. A GET never signs in or out. */
export const authPageRoutes = [
  route({
    method: "GET",
    path: "/api/auth/signin",
    name: "showSignIn",
    summary: "Show the sign-in page",
    limits: ["authReads"],
    responses: { 200: pageResponse, 302: redirect("To the configured sign-in page.") },
    errors: [],
    handle: ({ ctx }) => showSignIn(ctx),
  }),
  route({
    method: "GET",
    path: "/api/auth/error",
    name: "showSignInError",
    summary: "Show the sign-in page with an error",
    limits: ["authReads"],
    responses: { 200: pageResponse, 302: redirect("To the configured sign-in page.") },
    errors: [],
    handle: ({ ctx }) => showSignIn(ctx),
  }),
  route({
    method: "GET",
    path: "/api/auth/signout",
    name: "showSignOut",
    summary: "Show the sign-out page",
    limits: ["authReads"],
    description: "A GET never signs out.",
    responses: { 200: pageResponse, 302: redirect("To the home page, if a sign-in page is configured.") },
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
  const requested = query.get("callbackUrl") ?? undefined;
  if (config.signInPageUrl !== undefined) {
    respondWithUrl(
      ctx,
      false,
      signInPageUrl(config, {
        error,
        code,
        callbackUrl: requested === undefined ? undefined : callbackUrlOf(requested, config),
      }),
    );
    return;
  }
  respondWithPage(
    ctx,
    presentSignInPage({
      csrfToken: csrfTokenFor(ctx),
      callbackUrl: callbackUrlOf(requested, config),
      sentence: error === undefined ? undefined : sentenceForSignIn(error, code ?? null),
      providers: [...oauthProviders.values()],
      formTargets: formTargetsOf(ctx),
    }),
  );
}

/**
 * Origins of the allowed pages and of the providers. A provider may redirect the browser through further
 * origins.
 */
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

/** Accepts only a single word, which the page translates to a message. */
function word(text: string | null): string | undefined {
  return text !== null && /^[A-Za-z_]{1,64}$/.test(text) ? text : undefined;
}

/** A page without scripts, with its Content-Security-Policy. */
interface AuthPage {
  html: string;
  policy: string;
}

/** Content of the sign-in page. */
interface SignInPageContent {
  csrfToken: string;
  callbackUrl: string;
  /** Error code of the last attempt. */
  sentence: string | undefined;
  providers: readonly { id: string; name: string }[];
  /**
   * Origins that forms can lead to besides our own: browsers check every redirect after a form against this.
   */
  formTargets: readonly string[];
}

const style = `
:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }
body { display: grid; place-items: center; min-height: 100vh; margin: 0; }
main { width: min(22rem, 90vw); }
label { display: grid; gap: .25rem; margin-top: 1rem; font-weight: 600; }
input, button { box-sizing: border-box; width: 100%; min-height: 2.75rem; padding: 0 .75rem; font: inherit; }
button { margin-top: 1rem; font-weight: 600; cursor: pointer; }
[role="alert"] { padding: .75rem; border: 2px solid; border-radius: .5rem; }
`;

const styleSource = `'sha256-${createHash("sha256").update(style).digest("base64")}'`;

/** Returns the page with the form for e-mail and password and a button for each provider. */
function presentSignInPage({
  csrfToken,
  callbackUrl,
  sentence,
  providers,
  formTargets,
}: SignInPageContent): AuthPage {
  const hidden = hiddenFields({ csrfToken, callbackUrl });
  return page(
    "Sign in",
    formTargets,
    `
${sentence === undefined ? "" : `<p role="alert">${escape(sentence)}</p>`}
<form method="post" action="/api/auth/callback/credentials">${hidden}
<label>E-mail <input name="email" type="email" autocomplete="username" required maxlength="${limits.auth.emailMaxLength}" autofocus></label>
<label>Password <input name="password" type="password" autocomplete="current-password" required maxlength="${limits.auth.passwordMaxLength}"></label>
<button type="submit">Sign in</button>
</form>
${providers.map(({ id, name }) => `<form method="post" action="/api/auth/signin/${escape(id)}">${hidden}<button type="submit">Sign in with ${escape(name)}</button></form>`).join("\n")}`,
  );
}

/** Returns the page with the form that signs out. */
function presentSignOutPage({
  csrfToken,
  callbackUrl,
}: Pick<SignInPageContent, "csrfToken" | "callbackUrl">): AuthPage {
  return page(
    "Sign out",
    [],
    `
<form method="post" action="/api/auth/signout">${hiddenFields({ csrfToken, callbackUrl })}<button type="submit">Sign out</button></form>`,
  );
}

function page(title: string, formTargets: readonly string[], content: string): AuthPage {
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Joypod</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>${title}</h1>
${content}
</main>
</body>
</html>
`;
  const policy = [
    "default-src 'none'",
    `style-src ${styleSource}`,
    `form-action ${["'self'", ...formTargets].join(" ")}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ];
  return { html, policy: policy.join("; ") };
}

function hiddenFields(fields: Record<string, string>): string {
  return Object.entries(fields)
    .map(([name, value]) => `<input type="hidden" name="${name}" value="${escape(value)}">`)
    .join("");
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escape(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? "");
}
