import { z } from "zod";
import type { HttpDeps } from "../appContext.ts";
import { buildDocument, type DocumentConfig } from "./document.ts";
import { respondUnchanged, etagOf } from "../respondCacheable.ts";
import { cacheable } from "../responses.ts";
import { NoQuery } from "../input.ts";
import { publicRouteFor, type Route } from "../route.ts";

const OpenApiResponse = z
  .looseObject({ openapi: z.string().meta({ examples: ["3.1.1"] }) })
  .meta({ id: "OpenApi", description: "The OpenAPI document of this service." });

/** Adds the route that serves the document of all routes, including itself. The document is built once. */
export function withDocument<D extends HttpDeps>(
  routes: readonly Route<D>[],
  config: DocumentConfig,
): readonly Route<D>[] {
  const all: readonly Route<D>[] = [
    ...routes,
    publicRouteFor()({
      method: "GET",
      path: "/openapi.json",
      name: "getOpenApi",
      summary: "Get the OpenAPI document",
      limits: [],
      query: NoQuery,
      headers: ["If-None-Match"],
      responses: cacheable(OpenApiResponse),
      errors: [],
      handle: ({ ctx }) => {
        ctx.set("Cache-Control", "no-cache");
        if (respondUnchanged(ctx, etag)) return;
        ctx.type = "json";
        ctx.body = text;
      },
    }),
  ];
  const text = JSON.stringify(buildDocument(all, config));
  const etag = etagOf(text);
  return all;
}
