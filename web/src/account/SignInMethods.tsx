import type { SignInMethodsResponse } from "#contracts/http/auth.ts";
import { useProviderVisit } from "../signIn/useProviderRedirect.ts";
import { Icon } from "../components/Icon.tsx";

interface SignInMethodsProps {
  methods: SignInMethodsResponse;
  email: string;
  onProblem: (problem: unknown) => void;
}

/** Every way to sign in, and whether it leads to this account; a provider that does not yet can be linked. */
export function SignInMethods({ methods: { hasPassword, providers }, email, onProblem }: SignInMethodsProps) {
  const { leavingTo, visit } = useProviderVisit(onProblem);
  return (
    <ul className="methods" aria-label="Sign-in methods">
      <li className="method">
        <div className="method-text">
          <strong>E-mail and password</strong>
          <span>{email}</span>
        </div>
        {hasPassword ? <Linked word="Password set" /> : <span className="method-state">No password</span>}
      </li>
      {providers.map((provider) => (
        <li key={provider.id} className="method">
          <div className="method-text">
            <strong>{provider.name}</strong>
            <span>{provider.isLinked ? "Signs in to this account" : "Not linked yet"}</span>
          </div>
          {provider.isLinked ? <Linked word="Linked" /> : (
            <button
              type="button"
              className="button"
              aria-label={`Link ${provider.name}`}
              disabled={leavingTo !== undefined}
              onClick={() => visit(provider, `/account?${new URLSearchParams({ linked: provider.id })}`)}
            >
              <Icon name="link" />{leavingTo === provider.id ? "Going there…" : "Link"}
            </button>
          )}
        </li>
      ))}
    </ul>
  );
}

function Linked({ word }: { word: string }) {
  return <span className="method-state method-linked"><Icon name="check" />{word}</span>;
}
