import type { ReactNode } from "react";
import { Link } from "react-router";
import { Logo } from "../components/Icon.tsx";

/** The play page without a picture: before the game, after it, and when something is in the way. */
export function PlayFrame({ children }: { children: ReactNode }) {
  return (
    <main className="play-frame" id="main">
      <PlayBrand />
      {children}
    </main>
  );
}

/** The way out in the corner, wherever there is no picture. */
export function PlayBrand() {
  return <Link className="brand play-brand" to="/" aria-label="Joypod, all games"><Logo /></Link>;
}

/** Where to go from a session that is over. */
export function WaysOut({ gameSlug }: { gameSlug: string | undefined }) {
  return (
    <>
      {gameSlug !== undefined && <Link className="button" to={`/games/${gameSlug}`}>Back to the game</Link>}
      <Link className="button" to="/">All games</Link>
    </>
  );
}
