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
  /** Origin of every absolute address in responses. */
  baseUrl: string;
  /** Browsers use https. */
  isSecure: boolean;
  /** Where pages may live that use this API; our own origin is one of them. */
  allowedOrigins: ReadonlySet<string>;
  http: { bodyTimeoutMs: number };
}

/** The authenticated caller of a request. */
export interface Principal {
  /** The kind of routes that take the credential. */
  kind: "user" | "partner";
  id: string;
}

/** The renewal of a sign-in's cookie that a response carries. */
export interface CookieRenewal {
  /** Of the sign-in, as `UserPrincipal` has it. */
  authSessionId: string;
  token: string;
  /** When the request was admitted, by the clock that only goes forward. */
  admittedMs: number;
}

/** State that middleware shares with later middleware and the log line. */
export interface AppState {
  requestId: string;
  /** The path's pattern, such as `/api/games/:slug`. */
  route?: string;
  principal?: Principal;
  cookieRenewal?: CookieRenewal;
  /** A client that asked first (`Expect: 100-continue`) was told to send its body. */
  isBodyRequested?: true;
  /** Where its caller stands with every limit that it was counted under. */
  rateLimitOutcomes?: readonly RateLimitOutcome[];
  /** Unverified claims of the session token. */
  claims?: unknown;
}

/** What every context has beyond Koa's own. */
export interface AppExtras<D> {
  deps: D;
  params: Record<string, string>;
}

/** The context of a request; `D` is what its reader uses of the dependencies. */
export type AppContext<D = unknown> = ParameterizedContext<AppState, AppExtras<D>>;
