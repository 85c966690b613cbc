import { useId, useState, type SyntheticEvent } from "react";
import { useMutation } from "@tanstack/react-query";
import { limits } from "#contracts/limits.ts";
import { setPassword } from "../client/account.ts";
import { sentenceFor } from "../client/apiError.ts";
import type { AuthSessionUser } from "../client/auth.ts";
import { ActionButton } from "../components/ActionButton.tsx";
import { Dialog } from "../components/Dialog.tsx";
import type { Attempt } from "../signIn/useProviderRedirect.ts";

interface PasswordDialogProps {
  hasPassword: boolean;
  user: AuthSessionUser;
  attempt: Attempt;
  /** The password is set, and so many other sign-ins ended. */
  onDone: (endedSignIns: number) => void;
  onDismiss: () => void;
}

const { passwordMinLength, passwordMaxLength } = limits.auth;

/** Sets or changes the password. */
export function PasswordDialog({ hasPassword, user, attempt, onDone, onDismiss }: PasswordDialogProps) {
  const formId = useId();
  const [isDifferent, setIsDifferent] = useState(false);
  const setting = useMutation({
    mutationFn: (newPassword: string) =>
      attempt(async (currentPassword) => onDone(await setPassword(user.id, newPassword, currentPassword))),
  });

  const submit = (event: SyntheticEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const password = form.get("new-password");
    const isRepeated = password === form.get("repeated");
    setIsDifferent(!isRepeated);
    if (isRepeated && typeof password === "string") setting.mutate(password);
  };

  return (
    <Dialog
      title={hasPassword ? "Change your password" : "Set a password"}
      isBusy={setting.isPending}
      onDismiss={onDismiss}
      actions={
        <>
          <ActionButton
            type="submit"
            form={formId}
            className="button button-primary"
            isBusy={setting.isPending}
          >
            {setting.isPending ? "Saving…" : "Save password"}
          </ActionButton>
          <button type="button" className="button" disabled={setting.isPending} onClick={onDismiss}>
            Cancel
          </button>
        </>
      }
    >
      <p>
        At least {passwordMinLength} characters, and none of the common ones. You stay signed in here and are
        signed out everywhere else.
      </p>
      <form id={formId} onSubmit={submit}>
        {isDifferent && (
          <p className="message message-problem" role="alert">
            The two passwords are not the same.
          </p>
        )}
        {!isDifferent && setting.isError && (
          <p className="message message-problem" role="alert">
            {sentenceFor(setting.error)}
          </p>
        )}
        {/* For password managers, which ask whose password it is. */}
        <input type="email" name="username" autoComplete="username" value={user.email} readOnly hidden />
        <label className="field">
          <span>New password</span>
          <input
            name="new-password"
            type="password"
            autoComplete="new-password"
            required
            minLength={passwordMinLength}
            maxLength={passwordMaxLength}
            autoFocus
          />
        </label>
        <label className="field">
          <span>New password once more</span>
          <input
            name="repeated"
            type="password"
            autoComplete="new-password"
            required
            minLength={passwordMinLength}
            maxLength={passwordMaxLength}
          />
        </label>
      </form>
    </Dialog>
  );
}
