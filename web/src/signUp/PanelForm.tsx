import { useState, type ReactNode, type SyntheticEvent } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";
import { limits } from "#contracts/limits.ts";
import { describeError } from "../client/apiError.ts";
import { ActionButton } from "../components/ActionButton.tsx";
import { Logo } from "../components/Icon.tsx";
import { useTitle } from "../components/useTitle.ts";

const { emailMaxLength, nameMaxLength, passwordMinLength, passwordMaxLength } = limits.auth;

/** A page with one panel for a visitor without an account or password, and a link to the sign-in page. */
export function PanelPage({ title, children }: { title: string; children: ReactNode }) {
  const { t } = useTranslation("signUp");
  useTitle(title);
  return (
    <main className="sign-in" id="main">
      <section className="panel">
        <div className="sign-in-brand">
          <Logo />
        </div>
        <h1>{title}</h1>
        {children}
        <p className="panel-links">
          <Link to="/signin">{t("toSignIn")}</Link>
        </p>
      </section>
    </main>
  );
}

interface PanelFormProps {
  about: string;
  action: string;
  /** Sends the form. Its errors are shown. */
  onSubmit: (form: FormData) => Promise<void>;
  children: ReactNode;
}

/** The form of such a page. */
export function PanelForm({ about, action, onSubmit, children }: PanelFormProps) {
  const { t } = useTranslation(["signUp", "common"]);
  const [isBusy, setIsBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>();
  const submit = async (event: SyntheticEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    setIsBusy(true);
    setProblem(undefined);
    try {
      await onSubmit(form);
    } catch (error) {
      setProblem(error);
    } finally {
      setIsBusy(false);
    }
  };
  return (
    <form onSubmit={(event) => void submit(event)} aria-busy={isBusy}>
      <p className="muted">{about}</p>
      {problem !== undefined && (
        <p className="message message-problem" role="alert">
          {describeError(problem)}
        </p>
      )}
      {children}
      <ActionButton className="button button-primary button-wide" type="submit" isBusy={isBusy}>
        {isBusy ? t("common:saving") : action}
      </ActionButton>
    </form>
  );
}

/** The field for the e-mail address. With `value` it shows the address of a link, for password managers. */
export function EmailField({ value }: { value?: string }) {
  const { t } = useTranslation("signUp");
  return (
    <label className="field">
      <span>{t("email")}</span>
      <input
        name="email"
        type="email"
        autoComplete="username"
        required
        maxLength={emailMaxLength}
        {...(value === undefined ? { autoFocus: true } : { value, readOnly: true })}
      />
    </label>
  );
}

/** The field for the player's name. */
export function NameField() {
  const { t } = useTranslation("signUp");
  return (
    <label className="field">
      <span>{t("name")}</span>
      <input name="name" autoComplete="nickname" required maxLength={nameMaxLength} />
    </label>
  );
}

/** The field for a password: a new one, or the one that was chosen at the sign-up. */
export function PasswordField({ isNew, label }: { isNew: boolean; label: string }) {
  const { t } = useTranslation("signUp");
  return (
    <label className="field">
      <span>{label}</span>
      <input
        name="password"
        type="password"
        autoComplete={isNew ? "new-password" : "current-password"}
        required
        {...(isNew && { minLength: passwordMinLength })}
        maxLength={passwordMaxLength}
      />
      {isNew && <small className="muted">{t("passwordRule", { minLength: passwordMinLength })}</small>}
    </label>
  );
}

/** Returns the text of a form's field. */
export function textOf(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === "string" ? value : "";
}
