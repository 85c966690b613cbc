import { useId, useState, type SyntheticEvent, useCallback } from "react";
import { useTranslation } from "react-i18next";
import type { SignInMethodsResponse } from "#contracts/http/auth.ts";
import { limits } from "#contracts/limits.ts";
import { describeError, isApiError } from "../client/apiError.ts";
import { ActionButton } from "../components/ActionButton.tsx";
import { Dialog } from "../components/Dialog.tsx";
import { useProviderRedirect, type Attempt } from "../signIn/useProviderRedirect.ts";

/** A change that waits for the player's password. */
interface PendingChange {
  /**
   * Makes the change with this password. Throws errors that another attempt may resolve, such as
   * reauthentication_required for a wrong password.
   */
  confirm: (currentPassword: string) => Promise<void>;
  /** Cancels the change. */
  dismiss: () => void;
}

/** Errors after which the player can try again with a password; any other is an error of the change. */
const retryableCodes = [
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
 * Asks for proof of identity before a change of the sign-in methods: the password or, for an account without
 * one, another sign-in with a provider.
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
  const { t } = useTranslation(["account", "common"]);
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
      title={t("confirm.title")}
      isBusy={isBusy}
      onDismiss={dismiss}
      actions={
        <>
          <ActionButton type="submit" form={formId} className="button button-primary" isBusy={isBusy}>
            {isBusy ? t("confirm.checking") : t("confirm.confirm")}
          </ActionButton>
          <button type="button" className="button" disabled={isBusy} onClick={dismiss}>
            {t("common:cancel")}
          </button>
        </>
      }
    >
      <p>{t("confirm.byPassword")}</p>
      <form id={formId} onSubmit={(event) => void submit(event)}>
        {problem !== undefined && (
          <p className="message message-problem" role="alert">
            {describeError(problem)}
          </p>
        )}
        <label className="field">
          <span>{t("confirm.password")}</span>
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
  const { t } = useTranslation(["account", "common"]);
  const [problem, setProblem] = useState<unknown>();
  const { redirectingTo, redirect } = useProviderRedirect(setProblem, { player });
  const isBusy = redirectingTo !== undefined;
  return (
    <Dialog
      title={t("confirm.title")}
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
              {t("confirm.signInAgain", { provider: provider.name })}
            </ActionButton>
          ))}
          <button type="button" className="button" disabled={isBusy} onClick={onDismiss}>
            {t("common:cancel")}
          </button>
        </>
      }
    >
      <p>{t("confirm.byProvider")}</p>
      {problem !== undefined && (
        <p className="message message-problem" role="alert">
          {describeError(problem)}
        </p>
      )}
    </Dialog>
  );
}

/** Returns a function that changes the account, and the change that waits for proof of identity, if any. */
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
          if (isApiError(error, ...retryableCodes)) throw error;
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
