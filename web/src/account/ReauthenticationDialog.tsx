import { useId, useState, type SyntheticEvent, useCallback } from "react";
import type { SignInMethodsResponse } from "#contracts/http/auth.ts";
import { limits } from "#contracts/limits.ts";
import { sentenceFor, isApiError } from "../client/apiError.ts";
import { ActionButton } from "../components/ActionButton.tsx";
import { Dialog } from "../components/Dialog.tsx";
import { useProviderRedirect, type Attempt } from "../signIn/useProviderRedirect.ts";

/** A change that waits for the player's password. */
interface PendingChange {
  /**
   * Makes the change with this password. Throws what another try with a password may help against, such as
   * reauthentication_required for a wrong one.
   */
  confirm: (currentPassword: string) => Promise<void>;
  /** Leaves it undone. */
  dismiss: () => void;
}

/** Errors that leave the change waiting for a password; any other belongs to the change itself. */
const repeatable = [
  "reauthentication_required",
  "locked",
  "rate_limited",
  "unreachable",
  "unavailable",
] as const;

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

/**
 * Returns a function that makes a change of the account, and the change for which the player has to show
 * first that it is them.
 */
export function useReauthentication(): { attempt: Attempt; pending: PendingChange | undefined } {
  const [pending, setPending] = useState<PendingChange>();
  const attempt = useCallback<Attempt>(async (change) => {
    try {
      await change();
      return true;
    } catch (error) {
      if (!isApiError(error, "reauthentication_required")) throw error;
    }
    return new Promise((resolve, reject) => {
      const confirm = async (currentPassword: string): Promise<void> => {
        try {
          await change(currentPassword);
          resolve(true);
        } catch (error) {
          if (isApiError(error, ...repeatable)) throw error;
          reject(error instanceof Error ? error : new Error("The change failed.", { cause: error }));
        }
        setPending(undefined);
      };
      const dismiss = (): void => {
        setPending(undefined);
        resolve(false);
      };
      setPending({ confirm, dismiss });
    });
  }, []);
  return { attempt, pending };
}
