import { readFile, readdir } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import type { Next } from "koa";
import { pagePaths } from "#contracts/pagePaths.ts";
import { respondUnchanged, etagOf } from "./respondCacheable.ts";
import type { AppContext } from "./appContext.ts";

interface WebFile {
  body: Buffer;
  etag: string;
  type: string;
  isHashed: boolean;
}

/** The built web app, by path. It is read at the start, so that no request's path reaches the file system. */
export type WebPages = ReadonlyMap<string, WebFile>;

const pagePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  // Partners' pictures can have any https origin.
  "img-src 'self' https: data:",
  "media-src 'self' blob:",
  "worker-src 'self' blob:",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join("; ");

/** A client whose base URL ends with a slash requests //api/…. The app's page would look like a success. */
const apiAddress = /^\/+api(?:\/|$)/;

/** Reads all files in the web app's directory. Throws when its page is missing. */
export async function readWebPages(root: string): Promise<WebPages> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const files = await Promise.all(
    entries
      .filter((entry) => entry.isFile())
      .map(async (entry) => {
        const file = join(entry.parentPath, entry.name);
        const path = `/${relative(root, file).split(sep).join("/")}`;
        return [path, describe(path, await readFile(file))] as const;
      }),
  );
  const pages = new Map(files);
  if (!pages.has("/index.html"))
    throw new Error(`WEB_ROOT ${root} has no index.html: build the web app first (npm run build:web).`);
  return pages;
}

/** React Router ignores case and a trailing slash. */
const pageAddresses = Object.values(pagePaths).map(
  (path) => new RegExp(`^${path.replaceAll(/:\w+/g, "[^/]+").replace(/\/$/, "")}/?$`, "i"),
);

/**
 * Serves files by path, and a folder's index.html by the path of the folder, such as /docs. Every other
 * address gets the app's page, which routes on the client, with status 404 if it has no such page. Without
 * the OpenAPI document there is no API reference.
 */
export function serveWeb(
  allPages: WebPages,
  { hasReference }: { hasReference: boolean },
): (ctx: AppContext, next: Next) => Promise<void> {
  const pages = new Map(allPages);
  if (!hasReference) pages.delete("/docs/index.html");
  return async (ctx, next) => {
    const isRead = ctx.method === "GET" || ctx.method === "HEAD";
    if (!isRead || apiAddress.test(ctx.path)) {
      await next();
      return;
    }
    const existing = pages.get(ctx.path) ?? pages.get(`${ctx.path.replace(/\/$/, "")}/index.html`);
    const file = existing ?? (mayGetPage(ctx.path) ? pages.get("/index.html") : undefined);
    if (file === undefined) {
      await next();
      return;
    }
    ctx.state.route = "web";
    const isFound = existing !== undefined || pageAddresses.some((address) => address.test(ctx.path));
    ctx.status = isFound ? 200 : 404;
    ctx.set("Content-Security-Policy", pagePolicy);
    ctx.set("Permissions-Policy", "camera=(), microphone=(), geolocation=(), payment=(), usb=()");
    ctx.set("Cache-Control", file.isHashed ? "public, max-age=31536000, immutable" : "no-cache");
    if (isFound && respondUnchanged(ctx, file.etag)) return;
    ctx.type = file.type;
    ctx.body = file.body;
  };
}

/** Missing scripts and probed addresses must not get the page, which would look like a success. */
function mayGetPage(path: string): boolean {
  return !/\.[A-Za-z0-9]+$/.test(path) && !/^\/+(?:assets|healthz|readyz|metrics)(?:\/|$)/i.test(path);
}

function describe(path: string, body: Buffer): WebFile {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return {
    body,
    etag: etagOf(body),
    type: name.includes(".") ? name.slice(name.lastIndexOf(".")) : "application/octet-stream",
    isHashed: /^\/assets\/.+-[A-Za-z0-9_-]{8,}\.[a-z0-9]+$/.test(path),
  };
}
