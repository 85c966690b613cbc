import { lazy, Suspense, useEffect } from "react";
import { useTranslation } from "react-i18next";
import { Navigate, Outlet, Route, Routes, useLocation } from "react-router";
import { useQueryClient } from "@tanstack/react-query";
import { pagePaths } from "#contracts/pagePaths.ts";
import { CatalogPage } from "./catalog/CatalogPage.tsx";
import { GamePage } from "./catalog/GamePage.tsx";
import { forgetCatalog } from "./catalog/useCatalog.ts";
import { describeError } from "./client/apiError.ts";
import { Notice, Spinner } from "./components/Notice.tsx";
import { forgetHistory } from "./history/usePlayHistory.ts";
import { Layout, NotFoundPage } from "./layout/Layout.tsx";
import { PlayFrame } from "./play/PlayFrame.tsx";
import { KeepPlayLink, OpenPlayLinkPage } from "./playtest/PlayLinkPages.tsx";
import { SignInPage } from "./signIn/SignInPage.tsx";
import { useAuth } from "./signIn/useAuth.ts";

/** Separate bundles for pages that most visits do not open, such as the code for streaming. */
const SignUpPage = lazy(() => import("./signUp/SignUpPage.tsx"));
const InvitationPage = lazy(() => import("./signUp/InvitationPage.tsx"));
const ForgotPasswordPage = lazy(() => import("./signUp/ForgotPasswordPage.tsx"));
const ResetPasswordPage = lazy(() => import("./signUp/ResetPasswordPage.tsx"));
const ConfirmEmailPage = lazy(() => import("./signUp/ConfirmEmailPage.tsx"));
const AccountPage = lazy(() => import("./account/AccountPage.tsx"));
const HistoryPage = lazy(() => import("./history/HistoryPage.tsx"));
const SaveLinkPage = lazy(() => import("./saveLinks/SaveLinkPage.tsx"));
const PlayPage = lazy(() => import("./play/PlayPage.tsx"));

/** The pages of the site. */
export function App() {
  const { t } = useTranslation();
  return (
    <Routes>
      <Route path={pagePaths.signIn} element={<SignInPage />} />
      <Route element={<VisitorsPages />}>
        <Route path={pagePaths.signUp} element={<SignUpPage />} />
        <Route path={pagePaths.invitation} element={<InvitationPage />} />
        <Route path={pagePaths.forgotPassword} element={<ForgotPasswordPage />} />
        <Route path={pagePaths.resetPassword} element={<ResetPasswordPage />} />
        <Route path={pagePaths.confirmEmail} element={<ConfirmEmailPage />} />
      </Route>
      <Route path={pagePaths.playLink} element={<KeepPlayLink />} />
      <Route element={<SignedIn />}>
        <Route
          path={pagePaths.play}
          element={
            <Suspense
              fallback={
                <PlayFrame>
                  <Spinner label={t("loading")} />
                </PlayFrame>
              }
            >
              <PlayPage />
            </Suspense>
          }
        />
        <Route element={<Layout />}>
          <Route path={pagePaths.home} element={<CatalogPage />} />
          <Route path={pagePaths.game} element={<GamePage />} />
          <Route path={pagePaths.openPlayLink} element={<OpenPlayLinkPage />} />
          <Route path={pagePaths.history} element={<HistoryPage />} />
          <Route path={pagePaths.account} element={<AccountPage />} />
          <Route path={pagePaths.saveLink} element={<SaveLinkPage />} />
          <Route path="*" element={<NotFoundPage />} />
        </Route>
      </Route>
    </Routes>
  );
}

/** Pages for everybody, such as those of one-time links. */
function VisitorsPages() {
  const { t } = useTranslation();
  return (
    <Suspense
      fallback={
        <PlayFrame>
          <Spinner label={t("loading")} />
        </PlayFrame>
      }
    >
      <Outlet />
    </Suspense>
  );
}

/** Shows its routes to signed-in players, and sends everybody else to the sign-in page, which leads back. */
function SignedIn() {
  const { t } = useTranslation();
  const { auth, refresh } = useAuth();
  const { pathname, search } = useLocation();
  switch (auth.state) {
    case "loading":
      return (
        <PlayFrame>
          <Spinner label={t("loading")} />
        </PlayFrame>
      );
    case "signedIn":
      return <PlayersPages key={auth.user.id} />;
    case "signedOut": {
      const path = `${pathname}${search}`;
      const query = new URLSearchParams({
        ...((path !== "/" || auth.isExpired) && { callbackUrl: path }),
        ...(auth.isExpired && { error: "SessionRequired" }),
      });
      return <Navigate to={query.size === 0 ? "/signin" : `/signin?${query}`} replace />;
    }
    case "failed":
      return (
        <PlayFrame>
          <Notice
            tone="problem"
            title={t("unreachable")}
            actions={
              <button
                type="button"
                className="button button-primary"
                onClick={() => void refresh().catch(() => undefined)}
              >
                {t("retry")}
              </button>
            }
          >
            <p>{describeError(auth.error)}</p>
          </Notice>
        </PlayFrame>
      );
  }
}

/** The pages of one player. Nothing of them remains when another player signs in in another tab. */
function PlayersPages() {
  const client = useQueryClient();
  useEffect(
    () => () => {
      forgetCatalog(client);
      forgetHistory(client);
    },
    [client],
  );
  return <Outlet />;
}
