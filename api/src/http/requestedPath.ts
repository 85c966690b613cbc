import type { AppContext } from "./appContext.ts";

/**
 * Returns the path that a request asks for; undefined when its target is no address, such as `http://[::1`,
 * of which the path cannot be read.
 */
export function requestedPath(ctx: AppContext): string | undefined {
  try {
    const path = ctx.path as string | null;
    return path?.startsWith("/") === true || path === "*" ? path : undefined;
  } catch {
    return undefined;
  }
}
