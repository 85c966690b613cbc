import { useId, useState, type SyntheticEvent } from "react";
import { useTranslation } from "react-i18next";
import { useMutation } from "@tanstack/react-query";
import { limits } from "#contracts/limits.ts";
import { setPassword } from "../client/account.ts";
import { describeError } from "../client/apiError.ts";
import type { AuthSessionUser } from "../client/auth.ts";
import { ActionButton } from "../components/ActionButton.tsx";
import { Dialog } from "../components/Dialog.tsx";
import type { Attempt } from "../signIn/useProviderRedirect.ts";

interface PasswordDialogProps {
  hasPassword: boolean;
  user: AuthSessionUser;
  attempt: Attempt;
  /** Called when the password is set, with the number of other sign-ins that ended. */
  onDone: (endedSignIns: number) => void;
  onDismiss: () => void;
}

const { passwordMinLength, passwordMaxLength } = limits.auth;

/** Sets or changes the password. */
export function PasswordDialog({ hasPassword, user, attempt, onDone, onDismiss }: PasswordDialogProps) {
  const { t } = useTranslation(["account", "common"]);
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
      title={hasPassword ? t("password.changeTitle") : t("password.setTitle")}
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
            {setting.isPending ? t("common:saving") : t("password.save")}
          </ActionButton>
          <button type="button" className="button" disabled={setting.isPending} onClick={onDismiss}>
            {t("common:cancel")}
          </button>
        </>
      }
    >
      <p>{t("password.rules", { minLength: passwordMinLength })}</p>
      <form id={formId} onSubmit={submit}>
        {isDifferent && (
          <p className="message message-problem" role="alert">
            {t("password.mismatch")}
          </p>
        )}
        {!isDifferent && setting.isError && (
          <p className="message message-problem" role="alert">
            {describeError(setting.error)}
          </p>
        )}
        {/* Tells password managers whose password this is. */}
        <input type="email" name="username" autoComplete="username" value={user.email} readOnly hidden />
        <label className="field">
          <span>{t("password.new")}</span>
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
          <span>{t("password.repeat")}</span>
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
