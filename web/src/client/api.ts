/** Every call the pages make to the API, checked against the contracts. All of them throw ApiError and nothing else. */
import type { z } from "zod";
import { AuthSessionResponse, CsrfResponse, ProvidersResponse, RedirectResponse, SignInMethodsResponse } from "#contracts/http/auth.ts";
import { FavoriteResponse, GameDetail, GamesResponse } from "#contracts/http/catalog.ts";
import { ErrorBody } from "#contracts/http/errors.ts";
import {
  GameSessionStatusResponse, GameSessionsResponse, KeepaliveResponse, LaunchResponse, StopPendingResponse, StopResponse,
  type LaunchRequest,
} from "#contracts/http/gameSessions.ts";
import { limits } from "#contracts/limits.ts";
import { ApiError, isApiError } from "./apiError.ts";
import { randomId } from "./randomId.ts";

const requestTimeoutMs = 15_000;
const unansweredRetries = 2;
const unansweredPauseMs = 1_000;
const stopTimeoutMs = (limits.gameSession.stopWaitSeconds + 15) * 1_000;

/** What the catalogue can be asked for; `page` counts from 1. */
export interface CatalogQuery {
  page: number;
  search: string;
  tag: string;
  sort: "title" | "createdAt" | "popular";
}

interface CallOptions {
  method?: "GET" | "POST";
  json?: unknown;
  idempotencyKey?: string;
  form?: Record<string, string>;
  timeoutMs?: number;
  signal?: AbortSignal | undefined;
}

/** Who is signed in, or null. */
export async function readAuthSession(signal?: AbortSignal): Promise<AuthSessionUser | null> {
  const session = await call(AuthSessionResponse, "/api/auth/session", { signal });
  return "user" in session ? session.user : null;
}
export type AuthSessionUser = Extract<AuthSessionResponse, { user: unknown }>["user"];

/** Signs in; the cookie comes with the answer. Errors: invalid_credentials, locked and rate_limited (with a wait). */
export async function signIn(email: string, password: string): Promise<void> {
  const post = async (): Promise<unknown> =>
    call(RedirectResponse, "/api/auth/callback/credentials", { form: { ...await csrfForm(), email, password } });
  // The token may have been replaced by another tab's between fetching and posting it.
  await post().catch((error: unknown) => (isApiError(error, "csrf") ? post() : Promise.reject(error as ApiError)));
}

/** The external providers that players can sign in with. */
export async function listSignInProviders(signal?: AbortSignal): Promise<SignInProvider[]> {
  const providers = await call(ProvidersResponse, "/api/auth/providers", { signal });
  return Object.values(providers).filter(({ type }) => type !== "credentials");
}
export type SignInProvider = Pick<ProvidersResponse[string], "id" | "name">;

/** How the signed-in player can sign in. */
export function listSignInMethods(signal?: AbortSignal): Promise<SignInMethodsResponse> {
  return call(SignInMethodsResponse, "/api/auth/methods", { signal });
}

/** The provider's address to go to; it leads back to `callbackUrl`. Errors: unavailable when the provider does not answer. */
export async function beginProviderSignIn(provider: string, callbackUrl: string): Promise<string> {
  const form = { ...await csrfForm(), callbackUrl };
  return (await call(RedirectResponse, `/api/auth/signin/${encodeURIComponent(provider)}`, { form })).url;
}

/** Ends the sign-in, here and on the server. */
export async function signOut(): Promise<void> {
  await call(RedirectResponse, "/api/auth/signout", { form: await csrfForm() });
}

/** A page of the catalogue; a longer search than the API takes is cut. */
export function listGames({ page, search, tag, sort }: CatalogQuery, signal?: AbortSignal): Promise<GamesResponse> {
  const query = new URLSearchParams({ page: String(page), limit: "24", sort, order: sort === "title" ? "asc" : "desc" });
  if (search !== "") query.set("search", search.slice(0, limits.catalog.searchMaxLength));
  if (tag !== "") query.set("tag", tag);
  return call(GamesResponse, `/api/games?${query}`, { signal });
}

/** A game with the player's slots. */
export function readGame(slug: string, signal?: AbortSignal): Promise<GameDetail> {
  return call(GameDetail, `/api/games/${encodeURIComponent(slug)}`, { signal });
}

/** Turns the favourite mark over; says whether the game is one now. */
export async function toggleFavorite(gameId: string): Promise<boolean> {
  const { status } = await callOnce(FavoriteResponse, "/api/favorites", { gameId });
  return status === "added";
}

/** The id of the new session. Errors: session_active (with the id of the other), no_servers, no_empty_slot, rate_limited. */
export async function launchGame(request: LaunchRequest): Promise<string> {
  return (await callOnce(LaunchResponse, "/api/game/launch", request)).sessionId;
}

/** Where the player's session stands. */
export function readGameSession(sessionId: string, signal?: AbortSignal): Promise<GameSessionStatusResponse> {
  return call(GameSessionStatusResponse, `/api/game/session-status?${new URLSearchParams({ sessionId })}`, { signal });
}

/** Moves the session's idle end ahead; gives the new one. */
export function keepGameSession(sessionId: string, signal?: AbortSignal): Promise<KeepaliveResponse> {
  return call(KeepaliveResponse, "/api/game/keepalive", { json: { sessionId }, signal });
}

/** Stops a session, or asks for the statistics of a stopped one; `stopping` when the end takes longer than the server waits. */
export function stopGameSession(sessionId: string): Promise<StopResponse | StopPendingResponse> {
  return call(StopResponse.or(StopPendingResponse), "/api/game/stop", { json: { sessionId }, timeoutMs: stopTimeoutMs });
}

/** The player's sessions that are starting, running or stopping. */
export async function listGameSessions(signal?: AbortSignal): Promise<GameSessionsResponse["sessions"]> {
  return (await call(GameSessionsResponse, "/api/game/sessions", { signal })).sessions;
}

async function csrfForm(): Promise<Record<string, string>> {
  const { csrfToken } = await call(CsrfResponse, "/api/auth/csrf");
  return { csrfToken, callbackUrl: location.origin, json: "true" };
}

/** For what must not happen twice: when no answer comes the request is sent again, as the same one. */
async function callOnce<Schema extends z.ZodType>(schema: Schema, path: string, json: unknown): Promise<z.infer<Schema>> {
  const options = { json, idempotencyKey: randomId() };
  for (let retriesLeft = unansweredRetries; ; retriesLeft--) {
    try {
      return await call(schema, path, options);
    } catch (error) {
      const isUndecided = isApiError(error, "unreachable") || (retriesLeft < unansweredRetries && isApiError(error, "conflict"));
      if (!isUndecided || retriesLeft === 0) throw error;
      await new Promise((resolve) => setTimeout(resolve, unansweredPauseMs));
    }
  }
}

async function call<Schema extends z.ZodType>(schema: Schema, path: string, options: CallOptions = {}): Promise<z.infer<Schema>> {
  const response = await send(path, options);
  const body = await readJson(response);
  if (!response.ok) throw refusalOf(response, body);
  const parsed = schema.safeParse(body);
  if (!parsed.success) throw new ApiError("unexpected", `The answer of ${path} is not what was agreed on.`, { cause: parsed.error });
  return parsed.data;
}

async function send(path: string, { method, json, form, idempotencyKey, timeoutMs = requestTimeoutMs, signal }: CallOptions): Promise<Response> {
  const body = form === undefined ? json === undefined ? undefined : JSON.stringify(json) : new URLSearchParams(form);
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    return await fetch(path, {
      method: method ?? (body === undefined ? "GET" : "POST"),
      headers: {
        accept: "application/json",
        ...(json !== undefined && { "content-type": "application/json" }),
        ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
      },
      ...(body !== undefined && { body }),
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    });
  } catch (error) {
    throw new ApiError("unreachable", "The API did not answer.", { cause: error });
  }
}

async function readJson(response: Response): Promise<unknown> {
  try {
    return await response.json();
  } catch {
    return undefined; // No JSON: a proxy's page or a cut answer; the caller judges by status and schema.
  }
}

function refusalOf(response: Response, body: unknown): ApiError {
  const parsed = ErrorBody.safeParse(body).data;
  const retryAfter = Number(response.headers.get("retry-after") ?? Number.NaN);
  return new ApiError(parsed?.error ?? codeForStatus(response.status), parsed?.message ?? `Status ${response.status}.`, {
    ...(Number.isFinite(retryAfter) && { retryAfterSeconds: retryAfter }),
    ...(parsed?.sessionId !== undefined && { activeSessionId: parsed.sessionId }),
  });
}

/** For answers that something between us and the API gave. */
function codeForStatus(status: number): "unauthorized" | "rate_limited" | "unavailable" | "unexpected" {
  if (status === 401) return "unauthorized";
  if (status === 429) return "rate_limited";
  return status === 502 || status === 503 || status === 504 ? "unavailable" : "unexpected";
}
