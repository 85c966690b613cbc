import { useState } from "react";
import { useSearchParams } from "react-router";
import { useQuery } from "@tanstack/react-query";
import type { SignInMethodsResponse } from "#contracts/http/auth.ts";
import { sentenceFor } from "../client/apiError.ts";
import { listSignInMethods } from "../client/auth.ts";
import { LoadFailure, Spinner } from "../components/Notice.tsx";
import { useTitle } from "../components/useTitle.ts";
import { useAuth } from "../signIn/useAuth.ts";
import { linkingMessage } from "./linkingMessage.ts";
import { SignInMethods } from "./SignInMethods.tsx";

/** How the player can sign in. Linking leads to the provider and back here, with `linked` or `error` in the address. */
export function AccountPage() {
  useTitle("Your account");
  const { auth } = useAuth();
  const methods = useQuery({ queryKey: ["signInMethods"], queryFn: ({ signal }) => listSignInMethods(signal) });
  const [problem, setProblem] = useState<unknown>();
  if (auth.state !== "signedIn") return null;
  return (
    <section className="account" aria-labelledby="account-title">
      <h1 id="account-title">Sign-in methods</h1>
      <p className="muted">Whichever you use, you find the same games and saves.</p>
      {problem !== undefined && <p className="message message-problem" role="alert">{sentenceFor(problem)}</p>}
      {methods.isPending && <Spinner label="Loading…" />}
      {methods.isError && <LoadFailure what="Your sign-in methods" error={methods.error} onRetry={() => void methods.refetch()} />}
      {methods.isSuccess && (
        <>
          {problem === undefined && <LinkingResult providers={methods.data.providers} />}
          <SignInMethods methods={methods.data} email={auth.user.email} onProblem={setProblem} />
        </>
      )}
    </section>
  );
}

/** Says whether the provider that led back here was linked. */
function LinkingResult({ providers }: Pick<SignInMethodsResponse, "providers">) {
  const [query] = useSearchParams();
  const error = query.get("error");
  if (error !== null) return <p className="message message-problem" role="alert">{linkingMessage(error)}</p>;
  const linked = providers.find(({ id, isLinked }) => isLinked && id === query.get("linked"));
  return linked === undefined ? null : <p className="message" role="status">From now on you can sign in with {linked.name} too.</p>;
}
