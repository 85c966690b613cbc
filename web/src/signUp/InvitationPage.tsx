import { useTranslation } from "react-i18next";
import { acceptInvitation } from "../client/accountLinks.ts";
import { AccountLink, useEnter } from "./AccountLink.tsx";
import { EmailField, NameField, PanelForm, PanelPage, PasswordField, textOf } from "./PanelForm.tsx";

/** Opens the account of an invitation. */
export default function InvitationPage() {
  const { t } = useTranslation("signUp");
  const enter = useEnter();
  return (
    <PanelPage title={t("invitation.title")}>
      <AccountLink purposes={["invitation"]}>
        {({ token, email }) => (
          <PanelForm
            about={t("invitation.about")}
            action={t("invitation.action")}
            onSubmit={async (form) => {
              await acceptInvitation(token, textOf(form, "name"), textOf(form, "password"));
              await enter();
            }}
          >
            <EmailField value={email} />
            <NameField />
            <PasswordField isNew label={t("choosePassword")} />
          </PanelForm>
        )}
      </AccountLink>
    </PanelPage>
  );
}
