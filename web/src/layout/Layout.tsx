import { Suspense } from "react";
import { Link, NavLink, Outlet } from "react-router";
import { playPath, useActiveGameSession } from "../launch/useActiveGameSession.tsx";
import { Icon, Logo } from "../components/Icon.tsx";
import { Spinner } from "../components/Notice.tsx";
import { UserMenu } from "./UserMenu.tsx";

/** The frame of every signed-in page but the play page. */
export function Layout() {
  return (
    <>
      <a className="skip-link" href="#main">Skip to the content</a>
      <header className="header">
        <Link className="brand" to="/" aria-label="Joypod, all games"><Logo />Joypod</Link>
        <nav aria-label="Main">
          <NavLink className="nav-link" to="/" end>Games</NavLink>
        </nav>
        <ActiveSessionLink />
        <UserMenu />
      </header>
      <main id="main" tabIndex={-1} className="main">
        <Suspense fallback={<Spinner label="Loading…" />}><Outlet /></Suspense>
      </main>
    </>
  );
}

function ActiveSessionLink() {
  const { active } = useActiveGameSession();
  if (active === undefined) return null;
  if (active.status === "stopping") {
    return <span className="active-session"><span className="pulse" aria-hidden="true" />Saving {active.gameTitle}…</span>;
  }
  return (
    <Link className="active-session" to={playPath(active)}>
      <span className="pulse" aria-hidden="true" />
      <strong>Resume</strong>{" "}
      <span className="active-session-title">{active.gameTitle}</span>
      <Icon name="play" />
    </Link>
  );
}
