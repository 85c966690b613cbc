import { useState } from "react";
import { useSearchParams } from "react-router";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { SignInMethodsResponse } from "#contracts/http/auth.ts";
import { unlinkProvider } from "../client/account.ts";
import { isApiError, sentenceFor } from "../client/apiError.ts";
import type { AuthSessionUser } from "../client/auth.ts";
import { useAnnouncement } from "../components/useAnnouncement.tsx";
import { linkingMessage } from "./linkingMessage.ts";
import { PasswordDialog } from "./PasswordDialog.tsx";
import { ReauthenticationDialog } from "./ReauthenticationDialog.tsx";
import { SignInMethods } from "./SignInMethods.tsx";
import { useReauthentication } from "./useReauthentication.ts";

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
