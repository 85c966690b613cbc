import { randomBytes } from "node:crypto";
import { readConfig, type Config } from "#api/config.ts";
import { buildDocument, type OpenApiDocument } from "#api/http/openapi/document.ts";
import type { Route } from "#api/http/route.ts";
import { createRoutes } from "#api/routes.ts";

/** Returns a configuration with all defaults and no real stores. */
export function configWith(env: Record<string, string> = {}): Config {
  return readConfig({
    DATABASE_URL: "postgres://joypod@127.0.0.1/none",
    REDIS_URL: "redis://127.0.0.1",
    S3_ENDPOINT: "http://127.0.0.1",
    S3_ACCESS_KEY: "none",
    S3_SECRET_KEY: "none",
    BASE_URL: "https://joypod.example",
    SIGNING_KEYS: `test:${randomBytes(32).toString("base64")}`,
    PASSWORD_PEPPER: "pepper of the tests",
    ...env,
  });
}

let made: { routes: readonly Route[]; document: OpenApiDocument } | undefined;

/** Returns all routes and their document, created once. */
export function wholeInterface(): { routes: readonly Route[]; document: OpenApiDocument } {
  const config = configWith();
  const routes = made?.routes ?? createRoutes(config);
  return (made ??= { routes, document: buildDocument(routes, config) });
}
