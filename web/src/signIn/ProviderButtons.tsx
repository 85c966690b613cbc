import { ActionButton } from "../components/ActionButton.tsx";
import type { ProviderRedirect } from "./useProviderRedirect.ts";
import { useSignInProviders } from "./useSignInProviders.ts";

/**
 * A button for each external provider; nothing if there is none. `destination` is the path of this site to
 * come back to.
 */
export function ProviderButtons({
  destination,
  redirectingTo,
  redirect,
}: { destination: string } & Pick<ProviderRedirect, "redirectingTo" | "redirect">) {
  const providers = useSignInProviders();
  if (providers.length === 0) return null;
  return (
    <div className="providers">
      <p className="providers-or">or</p>
      {providers.map((provider) => (
        <ActionButton
          key={provider.id}
          className="button button-wide"
          isBusy={redirectingTo !== undefined}
          onClick={() => redirect(provider, destination)}
        >
          {redirectingTo === provider.id ? `Going to ${provider.name}…` : `Sign in with ${provider.name}`}
        </ActionButton>
      ))}
    </div>
  );
}
