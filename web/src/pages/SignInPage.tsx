import { useState, type SyntheticEvent } from "react";
import { Navigate, useSearchParams } from "react-router";
import { limits } from "#contracts/limits.ts";
import { isApiError, sentenceFor } from "../client/apiError.ts";
import { signIn } from "../client/api.ts";
import { Logo } from "../components/Icon.tsx";
import { LockCountdown } from "../components/LockCountdown.tsx";
import { localPath } from "../components/localPath.ts";
import { useAuth } from "../hooks/useAuth.tsx";
import { useTitle } from "../hooks/useTitle.ts";

/** Why the player was sent here, by the `error` of the address. */
const arrivals: Record<string, string> = {
  SessionRequired: "Please sign in to go on.",
  CredentialsSignin: "That e-mail and password do not match an account.",
  MissingCSRF: "That took too long. Please try again.",
  AccessDenied: "The sign-in was declined.",
};

/** E-mail and password; then on to `callbackUrl`. */
export function SignInPage() {
  useTitle("Sign in");
  const { auth, refresh } = useAuth();
  const [query] = useSearchParams();
  const [isBusy, setIsBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>();
  if (auth.state === "signedIn") return <Navigate to={localPath(query.get("callbackUrl"), location.origin)} replace />;

  const submit = async (event: SyntheticEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    setIsBusy(true);
    setProblem(undefined);
    try {
      await signIn(textOf(form, "email"), textOf(form, "password"));
      await refresh();
    } catch (error) {
      setProblem(error);
    } finally {
      setIsBusy(false);
    }
  };

  return (
    <main className="sign-in" id="main">
      <form className="panel" onSubmit={(event) => void submit(event)} aria-busy={isBusy}>
        <div className="sign-in-brand"><Logo /></div>
        <h1>Welcome to Joypod</h1>
        <p className="muted">Sign in and play, right in your browser.</p>
        <SignInMessage problem={problem} arrival={query.get("error")} onUnlocked={() => setProblem(undefined)} />
        <label className="field">
          <span>E-mail</span>
          <input name="email" type="email" autoComplete="username" required maxLength={limits.auth.emailMaxLength} autoFocus />
        </label>
        <label className="field">
          <span>Password</span>
          <input name="password" type="password" autoComplete="current-password" required maxLength={limits.auth.passwordMaxLength} />
        </label>
        <button className="button button-primary button-wide" type="submit" disabled={isBusy}>{isBusy ? "Signing in…" : "Sign in"}</button>
      </form>
    </main>
  );
}

function SignInMessage({ problem, arrival, onUnlocked }: { problem: unknown; arrival: string | null; onUnlocked: () => void }) {
  if (isApiError(problem, "locked", "rate_limited") && problem.retryAfterSeconds !== undefined) {
    return <LockCountdown key={problem.retryAfterSeconds} seconds={problem.retryAfterSeconds} isLocked={problem.code === "locked"} onEnd={onUnlocked} />;
  }
  if (problem !== undefined) return <p className="message message-problem" role="alert">{sentenceFor(problem)}</p>;
  if (arrival === null) return null;
  return <p className="message" role="status">{arrivals[arrival] ?? "The sign-in did not work. Please try again."}</p>;
}

function textOf(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === "string" ? value : "";
}
