import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useSearchParams } from "react-router";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type SignInMethodsResponse, sentenceForSignIn } from "#contracts/http/auth.ts";
import { unlinkProvider } from "../client/account.ts";
import { isApiError, describeError } from "../client/apiError.ts";
import type { AuthSessionUser } from "../client/auth.ts";
import { ActionButton } from "../components/ActionButton.tsx";
import { Icon } from "../components/Icon.tsx";
import { useAnnouncement } from "../components/useAnnouncement.tsx";
import { t } from "../i18n.ts";
import { useProviderRedirect, type Attempt } from "../signIn/useProviderRedirect.ts";
import { PasswordDialog } from "./PasswordDialog.tsx";
import { ReauthenticationDialog, useReauthentication } from "./ReauthenticationDialog.tsx";

type Provider = SignInMethodsResponse["providers"][number];

interface SignInMethodsProps {
  methods: SignInMethodsResponse;
  user: AuthSessionUser;
  attempt: Attempt;
  isBusy: boolean;
  onPassword: () => void;
  onUnlink: (provider: Provider) => void;
  onProblem: (problem: unknown) => void;
}

/** The sign-in methods with their actions, and the result of the last change. */
export function AccountMethods({ methods, user }: { methods: SignInMethodsResponse; user: AuthSessionUser }) {
  const { t } = useTranslation("account");
  const client = useQueryClient();
  const { attempt, pending } = useReauthentication();
  const [problem, setProblem] = useState<unknown>();
  const [announcement, announce] = useAnnouncement();
  /** True after the first action here: the result of a linking that led to this page is outdated then. */
  const [hasBegun, setHasBegun] = useState(false);
  const [isSettingPassword, setIsSettingPassword] = useState(false);
  const unlinking = useMutation({
    mutationFn: ({ id, name }: { id: string; name: string }) =>
      attempt(async (currentPassword) => {
        await unlinkProvider(user.id, id, currentPassword);
        announce(t("methods.unlinked", { provider: name }));
      }),
    onError: setProblem,
    onSettled: () => client.invalidateQueries({ queryKey: ["signInMethods"] }),
  });
  const begin = (): void => {
    setProblem(undefined);
    setHasBegun(true);
    announce("");
  };
  return (
    <>
      {problem !== undefined && (
        <p className="message message-problem" role="alert">
          {problemText(problem)}
        </p>
      )}
      {announcement}
      {problem === undefined && !hasBegun && <LinkingResult providers={methods.providers} />}
      <SignInMethods
        methods={methods}
        user={user}
        attempt={attempt}
        isBusy={unlinking.isPending}
        onPassword={() => {
          begin();
          setIsSettingPassword(true);
        }}
        onUnlink={(provider) => {
          begin();
          unlinking.mutate(provider);
        }}
        onProblem={setProblem}
      />
      {isSettingPassword && (
        <PasswordDialog
          hasPassword={methods.hasPassword}
          user={user}
          attempt={attempt}
          onDone={(ended) => {
            setIsSettingPassword(false);
            announce(passwordNews(ended));
            void client.invalidateQueries({ queryKey: ["signInMethods"] });
            void client.invalidateQueries({ queryKey: ["signIns"] });
          }}
          onDismiss={() => setIsSettingPassword(false)}
        />
      )}
      {pending !== undefined && (
        <ReauthenticationDialog change={pending} methods={methods} player={user.id} />
      )}
    </>
  );
}

function problemText(problem: unknown): string {
  return isApiError(problem, "conflict") ? t("account:methods.lastMethod") : describeError(problem);
}

function passwordNews(ended: number): string {
  if (ended === 0) return t("account:password.saved");
  return t("account:password.savedElsewhere", { count: ended });
}

/** Reports whether the provider that led back here was linked. */
function LinkingResult({ providers }: Pick<SignInMethodsResponse, "providers">) {
  const { t } = useTranslation("account");
  const [query] = useSearchParams();
  const error = query.get("error");
  if (error !== null)
    return (
      <p className="message message-problem" role="alert">
        {describeLinkingError(error)}
      </p>
    );
  const linked = providers.find(({ id, isLinked }) => isLinked && id === query.get("linked"));
  return linked === undefined ? null : (
    <p className="message" role="status">
      {t("methods.nowLinked", { provider: linked.name })}
    </p>
  );
}

/** Every sign-in method; providers can be linked to this account and unlinked. */
function SignInMethods({
  methods: { hasPassword, providers },
  user,
  attempt,
  isBusy,
  onPassword,
  onUnlink,
  onProblem,
}: SignInMethodsProps) {
  const { t } = useTranslation("account");
  const { redirectingTo, redirect } = useProviderRedirect(onProblem, { player: user.id, attempt });
  return (
    <ul className="methods" aria-label={t("methods.title")}>
      <li className="method">
        <div className="method-text">
          <strong>{t("methods.emailAndPassword")}</strong>
          <span>{user.email}</span>
        </div>
        {hasPassword ? (
          <Linked>{t("methods.passwordSet")}</Linked>
        ) : (
          <span className="method-state">{t("methods.noPassword")}</span>
        )}
        <ActionButton className="button" isBusy={isBusy} onClick={onPassword}>
          {hasPassword ? t("methods.changePassword") : t("methods.setPassword")}
        </ActionButton>
      </li>
      {providers.map((provider) => (
        <li key={provider.id} className="method">
          <div className="method-text">
            <strong>{provider.name}</strong>
            <span>{provider.isLinked ? t("methods.signsIn") : t("methods.notLinked")}</span>
          </div>
          {provider.isLinked && <Linked>{t("methods.linked")}</Linked>}
          {provider.isLinked ? (
            <ActionButton
              className="button"
              aria-label={t("methods.unlinkProvider", { provider: provider.name })}
              isBusy={isBusy}
              onClick={() => onUnlink(provider)}
            >
              {t("methods.unlink")}
            </ActionButton>
          ) : (
            <ActionButton
              className="button"
              aria-label={t("methods.linkProvider", { provider: provider.name })}
              isBusy={isBusy || redirectingTo !== undefined}
              onClick={() => redirect(provider, `/account?${new URLSearchParams({ linked: provider.id })}`)}
            >
              <Icon name="link" />
              {redirectingTo === provider.id ? t("methods.redirecting") : t("methods.link")}
            </ActionButton>
          )}
        </li>
      ))}
    </ul>
  );
}

function Linked({ children }: { children: string }) {
  return (
    <span className="method-state method-linked">
      <Icon name="check" />
      {children}
    </span>
  );
}

/** Returns why a provider's account was not linked, from the `error` in the address it led back to. */
function describeLinkingError(error: string): string {
  if (error === "OAuthAccountNotLinked") return t("account:methods.linkedElsewhere");
  if (error === "SessionRequired") return t("account:methods.signedOut");
  return sentenceForSignIn(error, null);
}
