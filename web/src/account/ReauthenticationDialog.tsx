import { useId, useState, type SyntheticEvent } from "react";
import type { SignInMethodsResponse } from "#contracts/http/auth.ts";
import { limits } from "#contracts/limits.ts";
import { sentenceFor } from "../client/apiError.ts";
import { ActionButton } from "../components/ActionButton.tsx";
import { Dialog } from "../components/Dialog.tsx";
import { useProviderRedirect } from "../signIn/useProviderRedirect.ts";
import type { PendingChange } from "./useReauthentication.ts";

interface ReauthenticationDialogProps {
  change: PendingChange;
  methods: SignInMethodsResponse;
  /** Id of the player who is asked. */
  player: string;
}

/**
 * Asks who is there before a change of how one signs in: for the password or, without one, to sign in anew.
 */
export function ReauthenticationDialog({
  change,
  methods: { hasPassword, providers },
  player,
}: ReauthenticationDialogProps) {
  return hasPassword ? (
    <PasswordDialog change={change} />
  ) : (
    <ProviderDialog
      providers={providers.filter(({ isLinked }) => isLinked)}
      player={player}
      onDismiss={change.dismiss}
    />
  );
}

function PasswordDialog({ change: { confirm, dismiss } }: { change: PendingChange }) {
  const formId = useId();
  const [isBusy, setIsBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>();

  const submit = async (event: SyntheticEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const password = new FormData(event.currentTarget).get("password");
    setIsBusy(true);
    setProblem(undefined);
    try {
      await confirm(typeof password === "string" ? password : "");
    } catch (error) {
      setProblem(error);
      setIsBusy(false);
    }
  };

  return (
    <Dialog
      title="Confirm that it is you"
      isBusy={isBusy}
      onDismiss={dismiss}
      actions={
        <>
          <ActionButton type="submit" form={formId} className="button button-primary" isBusy={isBusy}>
            {isBusy ? "Checking…" : "Confirm"}
          </ActionButton>
          <button type="button" className="button" disabled={isBusy} onClick={dismiss}>
            Cancel
          </button>
        </>
      }
    >
      <p>You signed in a while ago. Enter your present password to go on.</p>
      <form id={formId} onSubmit={(event) => void submit(event)}>
        {problem !== undefined && (
          <p className="message message-problem" role="alert">
            {sentenceFor(problem)}
          </p>
        )}
        <label className="field">
          <span>Your password</span>
          <input
            name="password"
            type="password"
            autoComplete="current-password"
            required
            maxLength={limits.auth.passwordMaxLength}
            autoFocus
          />
        </label>
      </form>
    </Dialog>
  );
}

function ProviderDialog({
  providers,
  player,
  onDismiss,
}: {
  providers: SignInMethodsResponse["providers"];
  player: string;
  onDismiss: () => void;
}) {
  const [problem, setProblem] = useState<unknown>();
  const { redirectingTo, redirect } = useProviderRedirect(setProblem, { player });
  const isBusy = redirectingTo !== undefined;
  return (
    <Dialog
      title="Confirm that it is you"
      isBusy={isBusy}
      onDismiss={onDismiss}
      actions={
        <>
          {providers.map((provider) => (
            <ActionButton
              key={provider.id}
              className="button button-primary"
              isBusy={isBusy}
              onClick={() => redirect(provider, "/account")}
            >
              Sign in again with {provider.name}
            </ActionButton>
          ))}
          <button type="button" className="button" disabled={isBusy} onClick={onDismiss}>
            Cancel
          </button>
        </>
      }
    >
      <p>You signed in a while ago. Sign in again, and then make the change within five minutes.</p>
      {problem !== undefined && (
        <p className="message message-problem" role="alert">
          {sentenceFor(problem)}
        </p>
      )}
    </Dialog>
  );
}
