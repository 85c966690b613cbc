import { z } from "zod";
import { invalidRequest, notFound, type DomainError } from "../errors.ts";
import type { AppContext, HttpDeps } from "./appContext.ts";
import { readForm, readJson } from "./body.ts";

/** The contract's schemas of a route's input; parts without a schema are not read. */
export interface InputSchemas<Params, Query, Body> {
  params?: z.ZodType<Params>;
  query?: z.ZodType<Query>;
  body?: z.ZodType<Body>;
  /** Whether the body is a form, or a JSON object in its place; otherwise it is JSON. */
  isForm?: boolean;
  /** Maximum body size in bytes; the default depends on the kind. */
  bodyBytes?: number;
}

/** Checked input. */
export interface Input<Params, Query, Body> {
  params: Params;
  query: Query;
  body: Body;
}

/** For routes without parameters, so that a misspelt parameter is not ignored. */
export const NoQuery = z.strictObject({});

const issuesShown = 20;
/** Maximum length of an invalid name in an error. */
const namedLength = 256;

/**
 * Reads and validates a request's input. With `refusesStrayQuery`, routes without query parameters refuse
 * them.
 *
 * @throws not_found for an impossible path parameter, 400 for any other invalid input
 */
export async function readInput<Params, Query, Body>(
  ctx: AppContext<HttpDeps>,
  schemas: InputSchemas<Params, Query, Body>,
  { refusesStrayQuery = false } = {},
): Promise<Input<Params | undefined, Query | z.infer<typeof NoQuery> | undefined, Body | undefined>> {
  const params = schemas.params?.safeParse(ctx.params);
  if (params?.success === false) throw noSuch(ctx.params, params.error);
  const querySchema = schemas.query ?? (refusesStrayQuery ? NoQuery : undefined);
  const query =
    querySchema === undefined
      ? undefined
      : check<Query | z.infer<typeof NoQuery>>(querySchema, readQuery(ctx, schemas));
  const body = schemas.body === undefined ? undefined : check(schemas.body, await readBody(ctx, schemas));
  return { params: params?.data, query, body };
}

/** Returns the error for an invalid path parameter, with the same text as for an unknown one. */
function noSuch(params: Readonly<Record<string, string>>, { issues }: z.ZodError): DomainError {
  const value = params[String(issues[0]?.path[0])] ?? "";
  return notFound(
    `There is nothing named ${Array.from(value).slice(0, namedLength).join("")} at this address.`,
  );
}

function readBody(
  ctx: AppContext<HttpDeps>,
  { isForm = false, bodyBytes }: InputSchemas<unknown, unknown, unknown>,
): Promise<unknown> {
  return isForm ? readForm(ctx, bodyBytes) : readJson(ctx, bodyBytes);
}

/** Returns the parsed value. Throws a 400 that names the first issues. */
function check<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const details = parsed.error.issues
    .slice(0, issuesShown)
    .map((issue) => ({ path: issue.path.join("."), message: issue.message }));
  const named = details.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
  throw invalidRequest(`The request is not valid. ${named.join("; ")}`, details);
}

/**
 * Returns the query parameters by name. Throws 400 for a repeated one, because programs disagree on which
 * value counts. The sign-in forms accept any additions to their address and use the first value.
 */
function readQuery(
  ctx: AppContext,
  { isForm = false }: InputSchemas<unknown, unknown, unknown>,
): Record<string, string> {
  if (ctx.querystring === "") return {};
  const values = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(ctx.querystring)) {
    if (values.has(name) && isForm) continue;
    if (values.has(name))
      throw invalidRequest(`The parameter ${JSON.stringify(name.slice(0, 64))} is given more than once.`);
    values.set(name, value);
  }
  return Object.fromEntries(values);
}
