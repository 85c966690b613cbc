import { z } from "zod";
import type { Config } from "../../config.ts";
import { buildDocument } from "./document.ts";
import { answerUnchanged, etagOf } from "../response.ts";
import { cacheable } from "../responses.ts";
import { NoQuery } from "../input.ts";
import { publicRoute, type Route } from "../route.ts";

const OpenApiResponse = z.looseObject({ openapi: z.string().meta({ examples: ["3.1.1"] }) })
  .meta({ id: "OpenApi", description: "The OpenAPI document of everything that this service answers." });

/** Adds the route of the document of all routes, itself included; made once, for the table does not change. */
export function withDocument(routes: readonly Route[], config: Config): readonly Route[] {
  const all: readonly Route[] = [...routes, publicRoute({
    method: "GET", path: "/openapi.json", name: "getOpenApi", summary: "Describe the interface", limits: [],
    query: NoQuery,
    headers: ["If-None-Match"],
    answers: cacheable(OpenApiResponse),
    errors: [],
    handle: ({ ctx }) => {
      ctx.set("Cache-Control", "no-cache");
      if (answerUnchanged(ctx, etag)) return;
      ctx.type = "json";
      ctx.body = text;
    },
  })];
  const text = JSON.stringify(buildDocument(all, config));
  const etag = etagOf(text);
  return all;
}
