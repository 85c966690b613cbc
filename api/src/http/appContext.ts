import type { ParameterizedContext } from "koa";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Logger } from "#runtime/logger.ts";
import type { Metrics } from "../metrics.ts";
import type { Postgres } from "../stores/postgres.ts";
import type { RateLimitOutcome, RateLimits } from "./rateLimits.ts";

/** What HTTP itself needs to serve any route. */
export interface HttpDeps {
  config: HttpConfig;
  logger: Logger;
  clock: Clock;
  metrics: Metrics;
  postgres: Postgres;
  rateLimits: RateLimits;
  /** Set when the process has begun to end: it finishes what it has, and asks for no more. */
  lifecycle: { isStopping: boolean };
}

/** What HTTP is told of its place. */
export interface HttpConfig {
  /** Origin of every absolute address in responses. */
  baseUrl: string;
  /** Browsers come by https. */
  isSecure: boolean;
  /** Where pages may live that use this API; our own origin is one of them. */
  allowedOrigins: ReadonlySet<string>;
  http: { bodyTimeoutMs: number };
}

/** Whom a request comes from, once its credential was checked. */
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

/** What the middleware leaves for later middleware and for the log line. */
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
  /** What the session token said, before it is checked any further. */
  claims?: unknown;
}

/** What every context has beyond Koa's own. */
export interface AppExtras<D> {
  deps: D;
  params: Record<string, string>;
}

/** The context of a request; `D` is what its reader uses of the dependencies. */
export type AppContext<D = unknown> = ParameterizedContext<AppState, AppExtras<D>>;
