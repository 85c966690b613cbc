import { useState } from "react";
import { useSearchParams } from "react-router";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type SignInMethodsResponse, sentenceForSignIn } from "#contracts/http/auth.ts";
import { unlinkProvider } from "../client/account.ts";
import { isApiError, sentenceFor } from "../client/apiError.ts";
import type { AuthSessionUser } from "../client/auth.ts";
import { useAnnouncement } from "../components/useAnnouncement.tsx";
import { PasswordDialog } from "./PasswordDialog.tsx";
import { ReauthenticationDialog, useReauthentication } from "./ReauthenticationDialog.tsx";
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

/** The ways to sign in and what can be done to them, with what came of the last change. */
export function AccountMethods({ methods, user }: { methods: SignInMethodsResponse; user: AuthSessionUser }) {
  const client = useQueryClient();
  const { attempt, pending } = useReauthentication();
  const [problem, setProblem] = useState<unknown>();
  const [announcement, announce] = useAnnouncement();
  /**
   * Whether something was done here, after which it is old what came of the provider that led to this page.
   */
  const [hasBegun, setHasBegun] = useState(false);
  const [isSettingPassword, setIsSettingPassword] = useState(false);
  const unlinking = useMutation({
    mutationFn: ({ id, name }: { id: string; name: string }) =>
      attempt(async (currentPassword) => {
        await unlinkProvider(user.id, id, currentPassword);
        announce(`${name} does not sign in to your account any more.`);
      }),
    onError: setProblem,
    onSettled: () => client.invalidateQueries({ queryKey: ["signInMethods"] }),
  });
  const begin = (): void => {
    setProblem(undefined);
    setHasBegun(true);
    announce("");
  };
  return (
    <>
      {problem !== undefined && (
        <p className="message message-problem" role="alert">
          {problemText(problem)}
        </p>
      )}
      {announcement}
      {problem === undefined && !hasBegun && <LinkingResult providers={methods.providers} />}
      <SignInMethods
        methods={methods}
        user={user}
        attempt={attempt}
        isBusy={unlinking.isPending}
        onPassword={() => {
          begin();
          setIsSettingPassword(true);
        }}
        onUnlink={(provider) => {
          begin();
          unlinking.mutate(provider);
        }}
        onProblem={setProblem}
      />
      {isSettingPassword && (
        <PasswordDialog
          hasPassword={methods.hasPassword}
          user={user}
          attempt={attempt}
          onDone={(ended) => {
            setIsSettingPassword(false);
            announce(passwordNews(ended));
            void client.invalidateQueries({ queryKey: ["signInMethods"] });
            void client.invalidateQueries({ queryKey: ["signIns"] });
          }}
          onDismiss={() => setIsSettingPassword(false)}
        />
      )}
      {pending !== undefined && (
        <ReauthenticationDialog change={pending} methods={methods} player={user.id} />
      )}
    </>
  );
}

function problemText(problem: unknown): string {
  return isApiError(problem, "conflict")
    ? "Nothing else signs in to your account yet. Set a password, or link another provider first."
    : sentenceFor(problem);
}

function passwordNews(ended: number): string {
  if (ended === 0) return "Your new password is set.";
  return ended === 1
    ? "Your new password is set. One other browser was signed out."
    : `Your new password is set. ${ended} other browsers were signed out.`;
}

/** Says whether the provider that led back here was linked. */
function LinkingResult({ providers }: Pick<SignInMethodsResponse, "providers">) {
  const [query] = useSearchParams();
  const error = query.get("error");
  if (error !== null)
    return (
      <p className="message message-problem" role="alert">
        {linkingMessage(error)}
      </p>
    );
  const linked = providers.find(({ id, isLinked }) => isLinked && id === query.get("linked"));
  return linked === undefined ? null : (
    <p className="message" role="status">
      From now on you can sign in with {linked.name} too.
    </p>
  );
}

/**
 * Every way to sign in, and whether it signs in to this account; a provider that does not can be linked, one
 * that does unlinked.
 */
function SignInMethods({
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

/**
 * Returns why a provider's account was not linked, by the `error` in the address that the provider led back
 * to.
 */
function linkingMessage(error: string): string {
  if (error === "OAuthAccountNotLinked")
    return "That account signs in to another player's account already, so it cannot be linked to yours.";
  if (error === "SessionRequired")
    return "You were signed out, or somebody else was signed in, while you were there. Please try again.";
  return sentenceForSignIn(error, null);
}
