import type { ParameterizedContext } from "koa";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Logger } from "#runtime/logger.ts";
import type { Metrics } from "../metrics.ts";
import type { Postgres } from "../stores/postgres.ts";
import type { RateLimitOutcome, RateLimits } from "./rateLimits.ts";

/** Dependencies of every route. */
export interface HttpDeps {
  config: HttpConfig;
  logger: Logger;
  clock: Clock;
  metrics: Metrics;
  postgres: Postgres;
  rateLimits: RateLimits;
  /** Set during shutdown: requests in flight are completed and no new work starts. */
  lifecycle: { isStopping: boolean };
}

/** Configuration of the HTTP layer. */
export interface HttpConfig {
  /** Origin of all absolute addresses in responses. */
  baseUrl: string;
  /** Whether browsers use https. */
  isSecure: boolean;
  /** Origins of pages that may use this API, including our own. */
  allowedOrigins: ReadonlySet<string>;
  http: { bodyTimeoutMs: number };
}

/** The authenticated caller of a request. */
export interface Principal {
  /** The kind of routes that accept the credential. */
  kind: "user" | "partner";
  id: string;
}

/** The renewal of a sign-in's cookie that a response carries. */
export interface CookieRenewal {
  /** Id of the sign-in, as in `UserPrincipal`. */
  authSessionId: string;
  token: string;
  /** Time of admission by the monotonic clock. */
  admittedMs: number;
}

/** State that middleware shares with later middleware and the log line. */
export interface AppState {
  requestId: string;
  /** The path's pattern, such as `/api/games/:slug`. */
  route?: string;
  principal?: Principal;
  cookieRenewal?: CookieRenewal;
  /** Whether a client that waits for 100-continue was told to send its body. */
  isBodyRequested?: true;
  /** The caller's state under every limit that the request was counted against. */
  rateLimitOutcomes?: readonly RateLimitOutcome[];
  /** Unverified claims of the session token. */
  claims?: unknown;
}

/** Properties of every context beyond Koa's. */
export interface AppExtras<D> {
  deps: D;
  params: Record<string, string>;
}

/** The context of a request; `D` is the subset of the dependencies that its reader uses. */
export type AppContext<D = unknown> = ParameterizedContext<AppState, AppExtras<D>>;
