import type { SignInMethodsResponse } from "#contracts/http/auth.ts";
import type { AuthSessionUser } from "../client/auth.ts";
import { ActionButton } from "../components/ActionButton.tsx";
import { Icon } from "../components/Icon.tsx";
import { useProviderRedirect, type Attempt } from "../signIn/useProviderRedirect.ts";

type Provider = SignInMethodsResponse["providers"][number];

interface SignInMethodsProps {
  methods: SignInMethodsResponse;
  user: AuthSessionUser;
  attempt: Attempt;
  isBusy: boolean;
  onPassword: () => void;
  onUnlink: (provider: Provider) => void;
  onProblem: (problem: unknown) => void;
}

/**
 * Every way to sign in, and whether it signs in to this account; a provider that does not can be linked, one
 * that does unlinked.
 */
export function SignInMethods({
  methods: { hasPassword, providers },
  user,
  attempt,
  isBusy,
  onPassword,
  onUnlink,
  onProblem,
}: SignInMethodsProps) {
  const { redirectingTo, redirect } = useProviderRedirect(onProblem, { player: user.id, attempt });
  return (
    <ul className="methods" aria-label="Sign-in methods">
      <li className="method">
        <div className="method-text">
          <strong>E-mail and password</strong>
          <span>{user.email}</span>
        </div>
        {hasPassword ? <Linked word="Password set" /> : <span className="method-state">No password</span>}
        <ActionButton className="button" isBusy={isBusy} onClick={onPassword}>
          {hasPassword ? "Change password" : "Set a password"}
        </ActionButton>
      </li>
      {providers.map((provider) => (
        <li key={provider.id} className="method">
          <div className="method-text">
            <strong>{provider.name}</strong>
            <span>{provider.isLinked ? "Signs in to this account" : "Not linked yet"}</span>
          </div>
          {provider.isLinked && <Linked word="Linked" />}
          {provider.isLinked ? (
            <ActionButton
              className="button"
              aria-label={`Unlink ${provider.name}`}
              isBusy={isBusy}
              onClick={() => onUnlink(provider)}
            >
              Unlink
            </ActionButton>
          ) : (
            <ActionButton
              className="button"
              aria-label={`Link ${provider.name}`}
              isBusy={isBusy || redirectingTo !== undefined}
              onClick={() => redirect(provider, `/account?${new URLSearchParams({ linked: provider.id })}`)}
            >
              <Icon name="link" />
              {redirectingTo === provider.id ? "Going there…" : "Link"}
            </ActionButton>
          )}
        </li>
      ))}
    </ul>
  );
}

function Linked({ word }: { word: string }) {
  return (
    <span className="method-state method-linked">
      <Icon name="check" />
      {word}
    </span>
  );
}
