import { useState } from "react";
import { useTranslation } from "react-i18next";
import { requestPasswordReset } from "../client/accountLinks.ts";
import { ReadState } from "../components/Notice.tsx";
import { useSignUp } from "../signIn/useSignUp.ts";
import { EmailField, PanelForm, PanelPage, textOf } from "./PanelForm.tsx";

/** Mails a link to choose a new password, or says whom to ask where the site sends no mail. */
export default function ForgotPasswordPage() {
  const { t } = useTranslation("signUp");
  const site = useSignUp();
  const [mailedTo, setMailedTo] = useState<string>();
  return (
    <PanelPage title={t("forgot.title")}>
      <ReadState query={site} failureTitle={t("loadFailed")} />
      {mailedTo !== undefined ? (
        <p className="message" role="status">
          {t("forgot.mailed", { email: mailedTo })}
        </p>
      ) : (
        site.data !== undefined &&
        (site.data.sendsMail ? (
          <PanelForm
            about={t("forgot.about")}
            action={t("forgot.action")}
            onSubmit={async (form) => {
              const email = textOf(form, "email");
              await requestPasswordReset(email);
              setMailedTo(email);
            }}
          >
            <EmailField />
          </PanelForm>
        ) : (
          <p className="muted">{t("forgot.noMail")}</p>
        ))
      )}
    </PanelPage>
  );
}
