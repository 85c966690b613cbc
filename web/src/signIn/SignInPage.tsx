import { useState, type SyntheticEvent, useEffect } from "react";
import { Trans, useTranslation } from "react-i18next";
import { Link, Navigate, useSearchParams } from "react-router";
import { sentenceForSignIn } from "#contracts/http/auth.ts";
import { limits } from "#contracts/limits.ts";
import { isApiError, describeError } from "../client/apiError.ts";
import { signIn } from "../client/auth.ts";
import { ActionButton } from "../components/ActionButton.tsx";
import { formatCountdown } from "../components/format.ts";
import { Logo } from "../components/Icon.tsx";
import { useNow } from "../components/useNow.ts";
import { useTitle } from "../components/useTitle.ts";
import { MaintenanceNotice } from "../service/MaintenanceNotice.tsx";
import { toLocalPath } from "./localPath.ts";
import { useAuth } from "./useAuth.ts";
import { useSignUp } from "./useSignUp.ts";
import { useProviderRedirect, type ProviderRedirect, useSignInProviders } from "./useProviderRedirect.ts";

/** Signs in by e-mail and password, or by an external provider; then goes to `callbackUrl`. */
export function SignInPage() {
  const { t } = useTranslation("signIn");
  useTitle(t("tabTitle"));
  const { auth, refresh } = useAuth();
  const [query] = useSearchParams();
  const [isBusy, setIsBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>();
  const [hasSignedIn, setHasSignedIn] = useState(false);
  const { redirectingTo, redirect, cancel } = useProviderRedirect(setProblem);
  const destination = toLocalPath(query.get("callbackUrl"), location.origin);
  if (auth.state === "signedIn")
    return <Navigate to={hasSignedIn ? destination : redirectTarget(query, destination)} replace />;

  const submit = async (event: SyntheticEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    cancel(); // The player chose the password.
    setIsBusy(true);
    setProblem(undefined);
    try {
      await signIn(textOf(form, "email"), textOf(form, "password"));
      setHasSignedIn(true);
      await refresh();
    } catch (error) {
      setProblem(error);
    } finally {
      setIsBusy(false);
    }
  };

  return (
    <>
      <MaintenanceNotice />
      <main className="sign-in" id="main">
        <form className="panel" onSubmit={(event) => void submit(event)} aria-busy={isBusy}>
          <div className="sign-in-brand">
            <Logo />
          </div>
          <h1>{t("title")}</h1>
          <p className="muted">{t("about")}</p>
          <SignInMessage problem={problem} query={query} onUnlocked={() => setProblem(undefined)} />
          <label className="field">
            <span>{t("email")}</span>
            <input
              name="email"
              type="email"
              autoComplete="username"
              required
              maxLength={limits.auth.emailMaxLength}
              autoFocus
            />
          </label>
          <label className="field">
            <span>{t("password")}</span>
            <input
              name="password"
              type="password"
              autoComplete="current-password"
              required
              maxLength={limits.auth.passwordMaxLength}
            />
          </label>
          <ActionButton className="button button-primary button-wide" type="submit" isBusy={isBusy}>
            {isBusy ? t("signingIn") : t("signIn")}
          </ActionButton>
          <SignUpLinks />
          <ProviderButtons destination={destination} redirectingTo={redirectingTo} redirect={redirect} />
        </form>
      </main>
    </>
  );
}

/**
 * Returns the path for a player who is signed in already. An error in the address is about a provider that
 * they wanted to link.
 */
function redirectTarget(query: URLSearchParams, destination: string): string {
  const error = query.get("error");
  return error === null || query.has("callbackUrl")
    ? destination
    : `/account?${new URLSearchParams({ error })}`;
}

/** Shows what went wrong on this page or, from the `error` in the address, before it. */
function SignInMessage({
  problem,
  query,
  onUnlocked,
}: {
  problem: unknown;
  query: URLSearchParams;
  onUnlocked: () => void;
}) {
  if (isApiError(problem, "locked", "rate_limited") && problem.retryAfterSeconds !== undefined) {
    return (
      <LockCountdown
        key={problem.retryAfterSeconds}
        seconds={problem.retryAfterSeconds}
        isLocked={problem.code === "locked"}
        onEnd={onUnlocked}
      />
    );
  }
  if (problem !== undefined)
    return (
      <p className="message message-problem" role="alert">
        {describeError(problem)}
      </p>
    );
  const error = query.get("error");
  return error === null ? null : (
    <p className="message" role="status">
      {sentenceForSignIn(error, query.get("code"))}
    </p>
  );
}

function textOf(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === "string" ? value : "";
}

/** Shows how long to wait before the next sign-in; calls `onEnd` when the wait is over. */
function LockCountdown({
  seconds,
  isLocked,
  onEnd,
}: {
  seconds: number;
  isLocked: boolean;
  onEnd: () => void;
}) {
  const { t } = useTranslation("signIn");
  const [endsAt] = useState(() => Date.now() + seconds * 1_000);
  const left = endsAt - useNow(1_000);
  const isOver = left <= 0;
  useEffect(() => {
    if (isOver) onEnd();
  }, [isOver, onEnd]);
  return (
    <p className="message message-problem" role="alert">
      {isLocked ? t("locked") : t("rateLimited")} {/* Screen readers must not read it out every second. */}
      <span aria-live="off">
        <Trans
          t={t}
          i18nKey="retryIn"
          values={{ time: formatCountdown(left) }}
          components={{ strong: <strong /> }}
        />
      </span>
    </p>
  );
}

/** Links for those without a password or an account. */
function SignUpLinks() {
  const { t } = useTranslation("signIn");
  const { data } = useSignUp();
  return (
    <p className="panel-links">
      <Link to="/forgot-password">{t("forgot")}</Link>
      {data?.mode === "open" && <Link to="/signup">{t("signUp")}</Link>}
      {data?.mode === "invite" && <span className="muted">{t("invited")}</span>}
    </p>
  );
}

/** A button for each external provider, if any. `destination` is the path of this site to return to. */
function ProviderButtons({
  destination,
  redirectingTo,
  redirect,
}: { destination: string } & Pick<ProviderRedirect, "redirectingTo" | "redirect">) {
  const { t } = useTranslation("signIn");
  const providers = useSignInProviders();
  if (providers.length === 0) return null;
  return (
    <div className="providers">
      <p className="providers-or">{t("or")}</p>
      {providers.map((provider) => (
        <ActionButton
          key={provider.id}
          className="button button-wide"
          isBusy={redirectingTo !== undefined}
          onClick={() => redirect(provider, destination)}
        >
          {redirectingTo === provider.id
            ? t("redirecting", { provider: provider.name })
            : t("withProvider", { provider: provider.name })}
        </ActionButton>
      ))}
    </div>
  );
}
