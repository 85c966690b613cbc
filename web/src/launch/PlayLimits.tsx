import { useTranslation } from "react-i18next";
import { useQuery } from "@tanstack/react-query";
import { limits } from "#contracts/limits.ts";
import { listPlayLimits } from "../client/gameSessions.ts";
import { formatHours, formatMoment } from "../components/format.ts";
import { Icon } from "../components/Icon.tsx";

/** How much play time is left of each limit. Shows nothing without limits, and while they are not known. */
export function PlayLimits() {
  const { t } = useTranslation("launch");
  const { data } = useQuery({
    queryKey: ["playLimits"],
    queryFn: ({ signal }) => listPlayLimits(signal),
    refetchInterval: 60_000,
  });
  if (data === undefined || data.limits.length === 0) return null;
  return (
    <ul className="play-limits">
      {data.limits.map(({ period, limitSeconds, remainingSeconds, resetsAt }) => (
        <li key={period}>
          <Icon name="clock" />
          {remainingSeconds < limits.gameSession.playSecondsMin
            ? t(`playLimits.${period}.usedUp`, { time: formatMoment(resetsAt) })
            : t(`playLimits.${period}.left`, {
                left: formatHours(remainingSeconds),
                limit: formatHours(limitSeconds),
              })}
        </li>
      ))}
    </ul>
  );
}
