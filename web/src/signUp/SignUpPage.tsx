import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Navigate } from "react-router";
import { signUp } from "../client/accountLinks.ts";
import { ReadState } from "../components/Notice.tsx";
import { useAuth } from "../signIn/useAuth.ts";
import { useSignUp } from "../signIn/useSignUp.ts";
import { EmailField, NameField, PanelForm, PanelPage, PasswordField, textOf } from "./PanelForm.tsx";

/** Opens an account, or says how to get one where players cannot open their own. */
export default function SignUpPage() {
  const { t } = useTranslation("signUp");
  const { auth } = useAuth();
  const site = useSignUp();
  const [mailedTo, setMailedTo] = useState<string>();
  if (auth.state === "signedIn") return <Navigate to="/" replace />;
  return (
    <PanelPage title={t("open.title")}>
      <ReadState query={site} failureTitle={t("loadFailed")} />
      {mailedTo !== undefined ? (
        <p className="message" role="status">
          {t("open.mailed", { email: mailedTo })}
        </p>
      ) : (
        site.data !== undefined &&
        (site.data.mode === "open" ? (
          <PanelForm
            about={t("open.about")}
            action={t("open.action")}
            onSubmit={async (form) => {
              const email = textOf(form, "email");
              await signUp(email, textOf(form, "name"), textOf(form, "password"));
              setMailedTo(email);
            }}
          >
            <EmailField />
            <NameField />
            <PasswordField isNew label={t("choosePassword")} />
          </PanelForm>
        ) : (
          <p className="muted">{t(`open.${site.data.mode}`)}</p>
        ))
      )}
    </PanelPage>
  );
}
