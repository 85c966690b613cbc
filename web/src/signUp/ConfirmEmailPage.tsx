import { useState } from "react";
import { useTranslation } from "react-i18next";
import { confirmEmailChange, confirmSignUp } from "../client/accountLinks.ts";
import { useAuth } from "../signIn/useAuth.ts";
import { AccountLink, useEnter } from "./AccountLink.tsx";
import { EmailField, PanelForm, PanelPage, PasswordField, textOf } from "./PanelForm.tsx";

/** Confirms the address of a new account, or a new address of an account. */
export default function ConfirmEmailPage() {
  const { t } = useTranslation("signUp");
  const enter = useEnter();
  const { refresh } = useAuth();
  const [isChanged, setIsChanged] = useState(false);
  return (
    <PanelPage title={t("confirm.title")}>
      {isChanged ? (
        <p className="message" role="status">
          {t("confirm.changed")}
        </p>
      ) : (
        <AccountLink purposes={["confirmation", "email_change"]}>
          {({ token, email, purpose }) =>
            purpose === "email_change" ? (
              <PanelForm
                about={t("confirm.changeAbout")}
                action={t("confirm.change")}
                onSubmit={async () => {
                  await confirmEmailChange(token);
                  setIsChanged(true);
                  await refresh().catch(() => undefined);
                }}
              >
                <EmailField value={email} />
              </PanelForm>
            ) : (
              <PanelForm
                about={t("confirm.about")}
                action={t("confirm.action")}
                onSubmit={async (form) => {
                  await confirmSignUp(token, textOf(form, "password"));
                  await enter();
                }}
              >
                <EmailField value={email} />
                <PasswordField isNew={false} label={t("chosenPassword")} />
              </PanelForm>
            )
          }
        </AccountLink>
      )}
    </PanelPage>
  );
}
