import { Suspense, useEffect, useRef, type RefObject } from "react";
import { Trans, useTranslation } from "react-i18next";
import { Link, NavigationType, NavLink, Outlet, useLocation, useNavigationType } from "react-router";
import { useQueryClient, useMutation } from "@tanstack/react-query";
import { describeError } from "../client/apiError.ts";
import { signOut } from "../client/auth.ts";
import { ActionButton } from "../components/ActionButton.tsx";
import { Icon, Logo } from "../components/Icon.tsx";
import { Spinner, Notice } from "../components/Notice.tsx";
import { useTitle } from "../components/useTitle.ts";
import { playPath } from "../launch/playPath.ts";
import { refreshActiveGameSession, useActiveGameSession } from "../launch/useActiveGameSession.ts";
import { useWaitingKeepalive } from "../play/useWaitingKeepalive.ts";
import { MaintenanceNotice } from "../service/MaintenanceNotice.tsx";
import { endAuthSession, useAuth } from "../signIn/useAuth.ts";

/** The frame of every signed-in page except the play page. */
export function Layout() {
  const { t } = useTranslation();
  const main = useRef<HTMLElement>(null);
  useTopOfPage(main);
  return (
    <>
      <a className="skip-link" href="#main">
        {t("skipLink")}
      </a>
      <header className="header">
        <Link className="brand" to="/" aria-label={t("home")}>
          <Logo />
          {t("brand")}
        </Link>
        <nav aria-label={t("mainNavigation")}>
          <NavLink className="nav-link" to="/" end>
            {t("games")}
          </NavLink>
          <NavLink className="nav-link" to="/history">
            {t("history")}
          </NavLink>
        </nav>
        <ActiveSessionLink />
        <UserMenu />
      </header>
      <MaintenanceNotice />
      <main id="main" ref={main} tabIndex={-1} className="main">
        <Suspense fallback={<Spinner label={t("loading")} />}>
          <Outlet />
        </Suspense>
      </main>
    </>
  );
}

/**
 * Scrolls to the top when a link leads to another page, and moves the focus there if the link is gone. For
 * Back and Forward the browser restores both.
 */
function useTopOfPage(main: RefObject<HTMLElement | null>): void {
  const { pathname } = useLocation();
  const way = useNavigationType();
  const shown = useRef(pathname);
  useEffect(() => {
    if (shown.current === pathname) return;
    shown.current = pathname;
    if (way === NavigationType.Pop) return;
    window.scrollTo(0, 0);
    if (document.activeElement === document.body) main.current?.focus({ preventScroll: true });
  }, [main, pathname, way]);
}

/**
 * Links to the player's game, if there is one, which is read again with every change of the page. While it
 * waits in the queue, the link shows its place, which the page keeps.
 */
function ActiveSessionLink() {
  const { t } = useTranslation();
  const active = useActiveGameSession();
  const client = useQueryClient();
  const { pathname } = useLocation();
  useEffect(() => refreshActiveGameSession(client), [client, pathname]);
  useWaitingKeepalive(active?.sessionId ?? "", {
    session: active?.queue === undefined ? undefined : active,
    isStopping: false,
    refresh: () => refreshActiveGameSession(client),
  });
  if (active === undefined) return null;
  if (active.status === "stopping") {
    return (
      <span className="active-session">
        <span className="pulse" aria-hidden="true" />
        {t("savingGame", { title: active.gameTitle })}
      </span>
    );
  }
  const isWaiting = active.queue !== undefined;
  const isSeatReady = active.queue?.confirmBy !== undefined;
  return (
    <Link className="active-session" to={playPath(active)}>
      <span className="pulse" aria-hidden="true" />
      <Trans
        t={t}
        i18nKey={isWaiting ? (isSeatReady ? "seatReady" : "queued") : "resume"}
        values={{ title: active.gameTitle, position: active.queue?.position }}
        components={{ strong: <strong />, span: <span className="active-session-title" /> }}
      />
      <Icon name="play" />
    </Link>
  );
}

/** The signed-in player, as a link to the account, and the button to sign out. */
function UserMenu() {
  const { t } = useTranslation();
  const { auth } = useAuth();
  const client = useQueryClient();
  const signingOut = useMutation({
    mutationFn: signOut,
    onSuccess: () => endAuthSession(client, { isExpired: false }),
  });
  if (auth.state !== "signedIn") return null;
  const { name, email, image } = auth.user;
  return (
    <div className="user">
      {signingOut.isError && (
        <span className="user-problem" role="alert">
          {describeError(signingOut.error)}
        </span>
      )}
      <NavLink className="account-link" to="/account">
        <span className="visually-hidden">{t("account")}</span>{" "}
        <span className="avatar" aria-hidden="true">
          {image === "" ? firstLetterOf(name === "" ? email : name) : <img src={image} alt="" />}
        </span>
        <span className="user-name" title={email}>
          {name === "" ? email : name}
        </span>
      </NavLink>
      <ActionButton
        className="button button-quiet"
        aria-label={t("signOut")}
        isBusy={signingOut.isPending}
        onClick={() => signingOut.mutate()}
      >
        <Icon name="leave" />
        <span className="user-leave">{t("signOut")}</span>
      </ActionButton>
    </div>
  );
}

/** Returns the first character; half of a surrogate pair would show as nothing. */
function firstLetterOf(text: string): string {
  return (Array.from(text)[0] ?? "").toUpperCase();
}

/** Shown for an address without a page. */
export function NotFoundPage() {
  const { t } = useTranslation();
  useTitle(t("notFound.tabTitle"));
  return (
    <Notice
      isPage
      title={t("notFound.title")}
      actions={
        <Link className="button button-primary" to="/">
          {t("allGames")}
        </Link>
      }
    >
      <p>{t("notFound.text")}</p>
    </Notice>
  );
}
