import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";
import { Logo } from "../components/Icon.tsx";

/** The frame of the play page without a picture: before and after the game, and for errors. */
export function PlayFrame({ children }: { children: ReactNode }) {
  return (
    <main className="play-frame" id="main">
      <PlayBrand />
      {children}
    </main>
  );
}

/** The link to all games in the corner of pages without a picture. */
export function PlayBrand() {
  const { t } = useTranslation(["play", "common"]);
  return (
    <Link className="brand play-brand" to="/" aria-label={t("common:home")}>
      <Logo />
    </Link>
  );
}

/** Links away from a session: to its game, if known, and to all games. */
export function ExitLinks({ gameSlug }: { gameSlug: string | undefined }) {
  const { t } = useTranslation(["play", "common"]);
  return (
    <>
      {gameSlug !== undefined && (
        <Link className="button" to={`/games/${gameSlug}`}>
          {t("backToGame")}
        </Link>
      )}
      <Link className="button" to="/">
        {t("common:allGames")}
      </Link>
    </>
  );
}
