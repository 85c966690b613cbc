import { useTranslation } from "react-i18next";
import { resetPassword } from "../client/accountLinks.ts";
import { AccountLink, useEnter } from "./AccountLink.tsx";
import { EmailField, PanelForm, PanelPage, PasswordField, textOf } from "./PanelForm.tsx";

/** Sets a new password with a one-time link. */
export default function ResetPasswordPage() {
  const { t } = useTranslation("signUp");
  const enter = useEnter();
  return (
    <PanelPage title={t("reset.title")}>
      <AccountLink purposes={["password_reset"]}>
        {({ token, email }) => (
          <PanelForm
            about={t("reset.about")}
            action={t("reset.action")}
            onSubmit={async (form) => {
              await resetPassword(token, textOf(form, "password"));
              await enter();
            }}
          >
            <EmailField value={email} />
            <PasswordField isNew label={t("newPassword")} />
          </PanelForm>
        )}
      </AccountLink>
    </PanelPage>
  );
}
