import Koa from "koa";
import compress from "koa-compress";
import type { Deps } from "./deps.ts";
import { auditErrorResponse } from "./audit/auditErrorResponse.ts";
import { translateUserGone } from "./auth/userQueries.ts";
import { cors, setSecurityHeaders } from "./http/setSecurityHeaders.ts";
import { handleErrors } from "./http/handleErrors.ts";
import { observeRequests } from "./http/observeRequests.ts";
import { serveWeb, type WebPages } from "./http/serveWeb.ts";
import type { AppExtras, AppState } from "./http/appContext.ts";
import { createRouter } from "./http/router.ts";
import { createRoutes } from "./routes.ts";

/** Creates the web application. Every request passes these middlewares from top to bottom. */
export function createApp(deps: Deps, pages: WebPages | undefined): Koa<AppState, AppExtras<Deps>> {
  const app = new Koa<AppState, AppExtras<Deps>>({
    proxy: deps.config.trustedProxies > 0,
    maxIpsCount: deps.config.trustedProxies,
  });
  app.context.deps = deps;
  app.on("error", (error: Error) =>
    deps.logger[hasClientLeft(error) ? "debug" : "warn"]({ err: error }, "A response broke off."),
  );
  app.use(observeRequests);
  app.use(setSecurityHeaders);
  app.use(handleErrors<Deps>({ translate: translateUserGone, onErrorResponse: auditErrorResponse }));
  app.use(cors);
  // Sign-in responses mix secrets with user input, which their compressed length would leak; responses to
  // writes are short.
  const compressed = compress({ threshold: 1024, br: false, zstd: false });
  app.use((ctx, next): Promise<void> => {
    if (ctx.method !== "GET" || ctx.path.startsWith("/api/auth/")) return next();
    // A client that accepts none of these encodings still gets the uncompressed body; the library would fail.
    const isAcceptable = ctx.acceptsEncodings("gzip", "deflate", "identity") !== false;
    return isAcceptable ? compressed(ctx, next) : next();
  });
  app.use(createRouter(createRoutes(deps.config)));
  if (pages !== undefined) app.use(serveWeb(pages, { hasReference: deps.config.serves.document }));
  return app;
}

/**
 * Returns whether the client disconnected before the response was complete, as followers of events do. The
 * request's log line records that it was cut.
 */
function hasClientLeft(error: Error & { code?: string }): boolean {
  return ["ERR_STREAM_PREMATURE_CLOSE", "ECONNRESET", "EPIPE"].includes(error.code ?? "");
}
