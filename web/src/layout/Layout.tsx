import { Suspense, useEffect, useRef, type RefObject } from "react";
import { Link, NavigationType, NavLink, Outlet, useLocation, useNavigationType } from "react-router";
import { useQueryClient, useMutation } from "@tanstack/react-query";
import { Icon, Logo } from "../components/Icon.tsx";
import { Spinner, Notice } from "../components/Notice.tsx";
import { playPath } from "../launch/playPath.ts";
import { refreshActiveGameSession, useActiveGameSession } from "../launch/useActiveGameSession.ts";
import { MaintenanceNotice } from "../service/MaintenanceNotice.tsx";
import { sentenceFor } from "../client/apiError.ts";
import { signOut } from "../client/auth.ts";
import { ActionButton } from "../components/ActionButton.tsx";
import { endAuthSession, useAuth } from "../signIn/useAuth.ts";
import { useTitle } from "../components/useTitle.ts";

/** The frame of every signed-in page but the play page. */
export function Layout() {
  const main = useRef<HTMLElement>(null);
  useTopOfPage(main);
  return (
    <>
      <a className="skip-link" href="#main">
        Skip to the content
      </a>
      <header className="header">
        <Link className="brand" to="/" aria-label="Joypod, all games">
          <Logo />
          Joypod
        </Link>
        <nav aria-label="Main">
          <NavLink className="nav-link" to="/" end>
            Games
          </NavLink>
        </nav>
        <ActiveSessionLink />
        <UserMenu />
      </header>
      <MaintenanceNotice />
      <main id="main" ref={main} tabIndex={-1} className="main">
        <Suspense fallback={<Spinner label="Loading…" />}>
          <Outlet />
        </Suspense>
      </main>
    </>
  );
}

/**
 * A link leads to the top of another page, and takes the focus there when it goes away itself. Where Back and
 * Forward lead, the browser knows.
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

/** Leads back to the game that is running. Every change of the page reads anew whether there is one. */
function ActiveSessionLink() {
  const active = useActiveGameSession();
  const client = useQueryClient();
  const { pathname } = useLocation();
  useEffect(() => refreshActiveGameSession(client), [client, pathname]);
  if (active === undefined) return null;
  if (active.status === "stopping") {
    return (
      <span className="active-session">
        <span className="pulse" aria-hidden="true" />
        Saving {active.gameTitle}…
      </span>
    );
  }
  return (
    <Link className="active-session" to={playPath(active)}>
      <span className="pulse" aria-hidden="true" />
      <strong>Resume</strong> <span className="active-session-title">{active.gameTitle}</span>
      <Icon name="play" />
    </Link>
  );
}

/** Who is signed in, which leads to their account, and the button to sign out. */
function UserMenu() {
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
          {sentenceFor(signingOut.error)}
        </span>
      )}
      <NavLink className="account-link" to="/account">
        <span className="visually-hidden">Your account</span>{" "}
        <span className="avatar" aria-hidden="true">
          {image === "" ? firstLetterOf(name === "" ? email : name) : <img src={image} alt="" />}
        </span>
        <span className="user-name" title={email}>
          {name === "" ? email : name}
        </span>
      </NavLink>
      <ActionButton
        className="button button-quiet"
        aria-label="Sign out"
        isBusy={signingOut.isPending}
        onClick={() => signingOut.mutate()}
      >
        <Icon name="leave" />
        <span className="user-leave">Sign out</span>
      </ActionButton>
    </div>
  );
}

/** Returns the first character, whole: half of an emoji shows as nothing. */
function firstLetterOf(text: string): string {
  return (Array.from(text)[0] ?? "").toUpperCase();
}

/** Shown for an address that has no page. */
export function NotFoundPage() {
  useTitle("Not found");
  return (
    <Notice
      isPage
      title="There is nothing here"
      actions={
        <Link className="button button-primary" to="/">
          All games
        </Link>
      }
    >
      <p>The address may be mistyped.</p>
    </Notice>
  );
}
