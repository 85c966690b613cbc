import Router from "@koa/router";
import type { Next } from "koa";
import { HttpError } from "./httpError.ts";
import type { AppContext, AppExtras, AppState } from "./appContext.ts";
import type { Route } from "./route.ts";

type Middleware<D> = (ctx: AppContext<D>, next: Next) => Promise<void>;

/**
 * Registers the routes. Paths must match exactly, so that no limit or cache can be bypassed with another
 * spelling.
 */
export function registerRoutes<D>(routes: readonly Route<D>[]): Router<AppState, AppExtras<D>> {
  const router = new Router<AppState, AppExtras<D>>({ strict: true, sensitive: true });
  for (const { method, path, handle } of routes) {
    router.register(path, [method.toLowerCase()], async (ctx) => {
      ctx.state.route = path;
      await handle(ctx);
    });
  }
  return router;
}

/**
 * Serves the route table. A known path with another method is 405 with `Allow`; OPTIONS describes the path.
 */
export function createRouter<D>(routes: readonly Route<D>[]): Middleware<D> {
  const router = registerRoutes(routes);
  const dispatch = router.routes() as unknown as Middleware<D>;
  const search: Middleware<D> = async (ctx, next) => {
    const fitting = router.match(ctx.path, ctx.method).path;
    // A literal path must not match the parameter of another one.
    const exact = fitting.filter((layer) => layer.path === ctx.path);
    const layers = exact.length > 0 ? exact : fitting;
    if (layers.length === 0 || layers.some(({ methods }) => methods.includes(ctx.method)))
      return dispatch(ctx, next);
    const allow = [...new Set(layers.flatMap((layer) => layer.methods)), "OPTIONS"].join(", ");
    if (ctx.method !== "OPTIONS") {
      throw new HttpError("method_not_allowed", {
        message: `Use one of ${allow} here.`,
        headers: { Allow: allow },
      });
    }
    ctx.set("Allow", allow);
    for (const { path, announce } of routes) {
      if (announce !== undefined && layers.some((layer) => layer.path === path))
        ctx.set(announce(ctx.deps, ctx));
    }
    ctx.status = 204;
  };
  // Most paths have no parameters and are found without a search.
  const fixed = new Map(
    routes.filter(({ path }) => !path.includes(":")).map((route) => [`${route.method} ${route.path}`, route]),
  );
  return (ctx, next) => {
    const known = fixed.get(`${ctx.method} ${ctx.path}`);
    if (known === undefined) return search(ctx, next);
    ctx.state.route = known.path;
    return known.handle(ctx);
  };
}
