import type { AppContext } from "../http/appContext.ts";

/** Cookie names and attributes depend on whether browsers use https. */
interface CookieConfig {
  isSecure: boolean;
}

type CookieContext = AppContext<{ config: CookieConfig }>;

/** Returns the name of the session cookie. */
export function sessionCookieName({ isSecure }: CookieConfig): string {
  return isSecure ? "__Secure-auth.session-token" : "auth.session-token";
}

/** Returns the name of the cookie that belongs to the forms' CSRF token. */
export function csrfCookieName({ isSecure }: CookieConfig): string {
  return isSecure ? "__Host-auth.csrf-token" : "auth.csrf-token";
}

/** Returns the prefix of the names of all cookies of pending sign-ins at external providers. */
export function transactionCookiePrefix({ isSecure }: CookieConfig): string {
  return isSecure ? "__Host-auth.oauth." : "auth.oauth.";
}

/**
 * Returns the request's cookies with this name prefix. Koa's reader would cache every requested name forever.
 */
export function cookiesWithPrefix(ctx: AppContext, prefix: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const pair of (ctx.req.headers.cookie ?? "").split(";")) {
    const at = pair.indexOf("=");
    const name = pair.slice(0, at).trim();
    if (at > 0 && name.startsWith(prefix) && !found.has(name)) found.set(name, pair.slice(at + 1).trim());
  }
  return found;
}

/**
 * Sets a cookie that scripts cannot read and that is not sent with cross-site requests. Without `expires` it
 * ends with the browser session. Koa's writer is not used because it refuses Secure cookies behind a proxy
 * that terminates TLS.
 */
export function setCookie(ctx: CookieContext, name: string, value: string, expires?: Date): void {
  const attributes = ["Path=/", "HttpOnly", "SameSite=Lax"];
  if (ctx.deps.config.isSecure) attributes.push("Secure");
  if (expires !== undefined) attributes.push(`Expires=${expires.toUTCString()}`);
  replaceCookie(ctx, name, [`${name}=${value}`, ...attributes].join("; "));
}

/** Clears a cookie. */
export function clearCookie(ctx: CookieContext, name: string): void {
  const secure = ctx.deps.config.isSecure ? "; Secure" : "";
  replaceCookie(ctx, name, `${name}=; Path=/; HttpOnly; SameSite=Lax${secure}; Max-Age=0`);
}

/** Removes a cookie with this value from the response. A later cookie of the same name stays. */
export function withdrawCookie(ctx: AppContext, name: string, value: string): void {
  const present = ctx.res.getHeader("Set-Cookie");
  if (!Array.isArray(present)) return;
  const others = present.filter((cookie) => !cookie.startsWith(`${name}=${value};`));
  if (others.length === 0) ctx.res.removeHeader("Set-Cookie");
  else ctx.res.setHeader("Set-Cookie", others);
}

/**
 * Replaces an earlier Set-Cookie of the same name: signing out also undoes the renewal of the same request.
 */
function replaceCookie(ctx: AppContext, name: string, cookie: string): void {
  const present = ctx.res.getHeader("Set-Cookie");
  const others = (Array.isArray(present) ? present : []).filter((other) => !other.startsWith(`${name}=`));
  ctx.res.setHeader("Set-Cookie", [...others, cookie]);
}
