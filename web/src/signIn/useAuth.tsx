import { createContext, use, useCallback, useEffect, useMemo, useState, type ReactNode } from "react";
import { isApiError } from "../client/apiError.ts";
import { readAuthSession, signOut, type AuthSessionUser } from "../client/api.ts";

/** Who uses the page. */
export type AuthState =
  | { state: "loading" }
  | { state: "signedIn"; user: AuthSessionUser }
  /** `isExpired`: was signed in until a request was refused. */
  | { state: "signedOut"; isExpired: boolean }
  | { state: "failed"; error: unknown };

interface Auth {
  auth: AuthState;
  /** Asks the API again who is signed in. */
  refresh: () => Promise<void>;
  signOut: () => Promise<void>;
  /** To be told of every failed request: one that was refused for want of a sign-in ends the signed-in state. */
  noticeError: (error: unknown) => void;
}

const AuthContext = createContext<Auth | undefined>(undefined);

/** Holds the sign-in state for everything below it. */
export function AuthProvider({ children }: { children: ReactNode }) {
  const [auth, setAuth] = useState<AuthState>({ state: "loading" });

  const refresh = useCallback(async () => {
    try {
      const user = await readAuthSession();
      setAuth(user === null ? { state: "signedOut", isExpired: false } : { state: "signedIn", user });
    } catch (error) {
      setAuth({ state: "failed", error });
    }
  }, []);

  const leave = useCallback(async () => {
    await signOut();
    setAuth({ state: "signedOut", isExpired: false });
  }, []);

  const noticeError = useCallback((error: unknown) => {
    if (isApiError(error, "unauthorized")) setAuth({ state: "signedOut", isExpired: true });
  }, []);

  useEffect(() => void refresh(), [refresh]);

  const value = useMemo(() => ({ auth, refresh, signOut: leave, noticeError }), [auth, refresh, leave, noticeError]);
  return <AuthContext value={value}>{children}</AuthContext>;
}

/** Who is signed in, and how to sign in and out. */
export function useAuth(): Auth {
  const auth = use(AuthContext);
  if (auth === undefined) throw new Error("useAuth needs an AuthProvider above it.");
  return auth;
}
