import { useEffect, useState } from "react";
import { ApiError, isApiError } from "../client/apiError.ts";
import { beginProviderSignIn, listSignInProviders, type SignInProvider } from "../client/api.ts";

/** A button for each external provider; nothing where there is none. `destination` is a path of this site. */
export function ProviderButtons({ destination, onProblem }: { destination: string; onProblem: (problem: unknown) => void }) {
  const [providers, setProviders] = useState<SignInProvider[]>([]);
  const [leavingTo, setLeavingTo] = useState<string>();

  useEffect(() => {
    const aborter = new AbortController();
    // Without the list the password form serves all the same.
    listSignInProviders(aborter.signal).then(setProviders, () => undefined);
    return () => aborter.abort();
  }, []);

  const leave = async ({ id }: SignInProvider): Promise<void> => {
    setLeavingTo(id);
    onProblem(undefined);
    try {
      location.assign(await beginProviderSignIn(id, new URL(destination, location.origin).href));
    } catch (error) {
      onProblem(isApiError(error, "unavailable") ? new ApiError("provider_away", "The provider does not answer.", { cause: error }) : error);
      setLeavingTo(undefined);
    }
  };

  if (providers.length === 0) return null;
  return (
    <div className="providers">
      <p className="providers-or">or</p>
      {providers.map((provider) => (
        <button key={provider.id} className="button button-wide" type="button" disabled={leavingTo !== undefined} onClick={() => void leave(provider)}>
          {leavingTo === provider.id ? `Going to ${provider.name}…` : `Sign in with ${provider.name}`}
        </button>
      ))}
    </div>
  );
}
