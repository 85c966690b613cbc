import { useProviderVisit } from "./useProviderRedirect.ts";
import { useSignInProviders } from "./useSignInProviders.ts";

/** A button for each external provider; nothing where there is none. `destination` is a path of this site. */
export function ProviderButtons({ destination, onProblem }: { destination: string; onProblem: (problem: unknown) => void }) {
  const providers = useSignInProviders();
  const { leavingTo, visit } = useProviderVisit(onProblem);
  if (providers.length === 0) return null;
  return (
    <div className="providers">
      <p className="providers-or">or</p>
      {providers.map((provider) => (
        <button key={provider.id} className="button button-wide" type="button" disabled={leavingTo !== undefined} onClick={() => visit(provider, destination)}>
          {leavingTo === provider.id ? `Going to ${provider.name}…` : `Sign in with ${provider.name}`}
        </button>
      ))}
    </div>
  );
}
