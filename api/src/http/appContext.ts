import type { ParameterizedContext } from "koa";
import type { Deps } from "../deps.ts";

/** Who a request with a valid session cookie comes from. */
export interface UserPrincipal {
  id: string;
  name: string;
  email: string;
  /** Hash of the sign-in's id: names the auth-session row. */
  authSessionId: string;
}

/** Who a request with a valid API key comes from. */
export interface PartnerPrincipal {
  id: string;
  name: string;
  /** Public part of the key: what the request rate is counted by. */
  keyId: string;
  /** Of this request, for the audit trail. */
  request: { address: string; requestId: string };
}

/** What the middleware leaves for later middleware and for the log line. */
export interface AppState {
  requestId: string;
  /** The path's pattern, such as `/api/games/:slug`. */
  route?: string;
  user?: UserPrincipal;
  partner?: PartnerPrincipal;
  /** What the session token said, before it is checked any further. */
  claims?: unknown;
}

export interface AppExtras {
  deps: Deps;
  params: Record<string, string>;
}

/** The context of every request. */
export type AppContext = ParameterizedContext<AppState, AppExtras>;
