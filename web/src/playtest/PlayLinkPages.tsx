import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { Link, Navigate, useLocation } from "react-router";
import { useQuery } from "@tanstack/react-query";
import { defaultChannel } from "#contracts/http/gameChannels.ts";
import { describeError, isApiError } from "../client/apiError.ts";
import { keepLinkToken, openPlayLink, readLinkToken } from "../client/playLinks.ts";
import { Notice, Spinner } from "../components/Notice.tsx";

/** Keeps the token of a play link, whose address ends with it, and goes on where the player is signed in. */
export function KeepPlayLink() {
  const { hash } = useLocation();
  const [isKept, setIsKept] = useState(false);
  useEffect(() => {
    if (hash.length > 1) keepLinkToken(hash.slice(1));
    setIsKept(true);
  }, [hash]);
  return isKept ? <Navigate to="/playtest/open" replace /> : null;
}

/** Opens the kept play link, and then its game. */
export function OpenPlayLinkPage() {
  const { t } = useTranslation(["launch", "common"]);
  const token = readLinkToken() ?? "";
  const { data, error } = useQuery({
    queryKey: ["playLink", token],
    queryFn: ({ signal }) => openPlayLink(token, signal),
    enabled: token !== "",
  });
  if (data !== undefined) {
    const query = data.channel === defaultChannel ? "" : `?${new URLSearchParams({ channel: data.channel })}`;
    return <Navigate to={`/games/${data.gameSlug}${query}`} replace />;
  }
  if (error === null && token !== "") return <Spinner label={t("playLink.opening")} />;
  return (
    <Notice
      isPage
      title={t("playLink.failed")}
      actions={
        <Link className="button" to="/">
          {t("common:allGames")}
        </Link>
      }
    >
      <p>{error === null || isApiError(error, "not_found") ? t("playLink.unknown") : describeError(error)}</p>
    </Notice>
  );
}
