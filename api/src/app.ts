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

/** The web application: every request passes these, top to bottom. */
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
  // Responses about sign-in mix secrets with what the caller sent, and their compressed length would tell;
  // those to writes are short.
  const compressed = compress({ threshold: 1024, br: false, zstd: false });
  app.use((ctx, next): Promise<void> => {
    if (ctx.method !== "GET" || ctx.path.startsWith("/api/auth/")) return next();
    // A client that takes neither these encodings nor the body as it is gets that all the same; the library
    // fails.
    const isAcceptable = ctx.acceptsEncodings("gzip", "deflate", "identity") !== false;
    return isAcceptable ? compressed(ctx, next) : next();
  });
  app.use(createRouter(createRoutes(deps.config)));
  if (pages !== undefined) app.use(serveWeb(pages));
  return app;
}

/**
 * Returns whether the client left before the response was complete, as followers of events do in the end. The
 * request's own log line says that it was cut.
 */
function hasClientLeft(error: Error & { code?: string }): boolean {
  return ["ERR_STREAM_PREMATURE_CLOSE", "ECONNRESET", "EPIPE"].includes(error.code ?? "");
}
