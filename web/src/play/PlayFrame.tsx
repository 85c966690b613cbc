import type { ReactNode } from "react";
import { Link } from "react-router";
import { Logo } from "../components/Icon.tsx";

/** The frame of the play page while there is no picture: before the game, after it, and for an error. */
export function PlayFrame({ children }: { children: ReactNode }) {
  return (
    <main className="play-frame" id="main">
      <PlayBrand />
      {children}
    </main>
  );
}

/** The link home in the corner, wherever there is no picture. */
export function PlayBrand() {
  return (
    <Link className="brand play-brand" to="/" aria-label="Joypod, all games">
      <Logo />
    </Link>
  );
}

/** Links away from a session: to its game, if that is known, and to all games. */
export function ExitLinks({ gameSlug }: { gameSlug: string | undefined }) {
  return (
    <>
      {gameSlug !== undefined && (
        <Link className="button" to={`/games/${gameSlug}`}>
          Back to the game
        </Link>
      )}
      <Link className="button" to="/">
        All games
      </Link>
    </>
  );
}
