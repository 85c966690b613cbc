import { useCallback, useState } from "react";
import { useSearchParams } from "react-router";
import type { SignInMethodsResponse } from "#contracts/http/auth.ts";
import { listSignInMethods } from "../client/api.ts";
import { sentenceFor } from "../client/apiError.ts";
import { LoadFailure, Spinner } from "../components/Notice.tsx";
import { SignInMethods } from "./SignInMethods.tsx";
import { sentenceForLinking } from "../components/timeText.ts";
import { useAuth } from "../signIn/useAuth.tsx";
import { useResource } from "../hooks/useResource.ts";
import { useTitle } from "../components/useTitle.ts";

/** How the player can sign in. Linking leads to the provider and back here, with `linked` or `error` in the address. */
export function AccountPage() {
  useTitle("Your account");
  const { auth, noticeError } = useAuth();
  const { resource, reload } = useResource(useCallback((signal: AbortSignal) => listSignInMethods(signal).catch((error: unknown) => {
    noticeError(error);
    throw error;
  }), [noticeError]));
  const [problem, setProblem] = useState<unknown>();
  if (auth.state !== "signedIn") return null;
  return (
    <section className="account" aria-labelledby="account-title">
      <h1 id="account-title">Sign-in methods</h1>
      <p className="muted">Whichever you use, you find the same games and saves.</p>
      {problem !== undefined && <p className="message message-problem" role="alert">{sentenceFor(problem)}</p>}
      {resource.state === "loading" && <Spinner label="Loading…" />}
      {resource.state === "failed" && <LoadFailure what="Your sign-in methods" error={resource.error} onRetry={reload} />}
      {resource.state === "ready" && (
        <>
          {problem === undefined && <Arrival providers={resource.value.providers} />}
          <SignInMethods methods={resource.value} email={auth.user.email} onProblem={setProblem} />
        </>
      )}
    </section>
  );
}

/** What came of a visit to a provider. */
function Arrival({ providers }: Pick<SignInMethodsResponse, "providers">) {
  const [query] = useSearchParams();
  const error = query.get("error");
  if (error !== null) return <p className="message message-problem" role="alert">{sentenceForLinking(error)}</p>;
  const linked = providers.find(({ id, isLinked }) => isLinked && id === query.get("linked"));
  return linked === undefined ? null : <p className="message" role="status">From now on you can sign in with {linked.name} too.</p>;
}
