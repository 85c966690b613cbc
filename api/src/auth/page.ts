import { createHash } from "node:crypto";
import { limits } from "#contracts/limits.ts";

/** A page without scripts, and its Content-Security-Policy. */
export interface AuthPage {
  html: string;
  policy: string;
}

/** What the sign-in page shows. */
export interface SignInPageContent {
  csrfToken: string;
  callbackUrl: string;
  /** The error of the last attempt. */
  sentence: string | undefined;
  providers: readonly { id: string; name: string }[];
  /** Where forms may lead besides our own origin: browsers check every redirect after a form against this. */
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

/** Returns the form for e-mail and password, and a button for each provider. */
export function presentSignInPage({
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

/** Returns the form that signs out: a GET never does. */
export function presentSignOutPage({
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
