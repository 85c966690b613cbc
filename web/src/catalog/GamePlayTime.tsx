import { useTranslation } from "react-i18next";
import { Link } from "react-router";
import { useQuery } from "@tanstack/react-query";
import { listPlayedSessions } from "../client/history.ts";
import { formatDuration, formatTimeAgo } from "../components/format.ts";
import { Icon } from "../components/Icon.tsx";
import { useNow } from "../components/useNow.ts";

/**
 * How long and how often the player has played a game, with a link to these sessions. Shows nothing for a
 * game that was never played, and while that is not known.
 */
export function GamePlayTime({ slug, title }: { slug: string; title: string }) {
  const { t } = useTranslation("catalog");
  const now = useNow(60_000);
  const { data } = useQuery({
    queryKey: ["playTime", slug],
    queryFn: ({ signal }) => listPlayedSessions({ game: slug, page: 1, limit: 1 }, signal),
  });
  const last = data?.sessions[0];
  if (data === undefined || last === undefined) return null;
  return (
    <p className="play-time">
      <Icon name="clock" />
      {t("game.playTime", {
        count: data.pagination.total,
        time: formatDuration(data.playSeconds),
        ago: formatTimeAgo(last.startedAt, now),
      })}{" "}
      <Link
        className="text-button"
        to={`/history?${new URLSearchParams({ game: slug })}`}
        aria-label={t("game.historyOf", { title })}
      >
        {t("game.history")}
      </Link>
    </p>
  );
}
