import { useTranslation } from "react-i18next";
import { confirmSignUp } from "../client/accountLinks.ts";
import { AccountLink, useEnter } from "./AccountLink.tsx";
import { EmailField, PanelForm, PanelPage, PasswordField, textOf } from "./PanelForm.tsx";

/** Confirms the address of a new account. */
export default function ConfirmEmailPage() {
  const { t } = useTranslation("signUp");
  const enter = useEnter();
  return (
    <PanelPage title={t("confirm.title")}>
      <AccountLink purposes={["confirmation"]}>
        {({ token, email }) => (
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
        )}
      </AccountLink>
    </PanelPage>
  );
}
