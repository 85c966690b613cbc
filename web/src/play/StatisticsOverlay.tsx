import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { t } from "../i18n.ts";
import { describeQualityBriefly } from "../quality/qualityText.ts";
import type { GameStream } from "../stream/gameStream.ts";
import {
  type StreamStatistics,
  readCounters,
  statisticsBetween,
  type StreamCounters,
} from "../stream/streamStatistics.ts";
import type { HeldQuality, StreamHello } from "./useGameStream.ts";

const sampleMs = 1_000;
/** Shown for a value that is not known. */
const unknownValue = "–";

/** Measurements of the connection, updated every second. */
export function StatisticsOverlay({
  stream,
  hello,
  quality,
}: {
  stream: GameStream | undefined;
  hello: StreamHello | undefined;
  quality: HeldQuality | undefined;
}) {
  const { t } = useTranslation("play");
  const now = useStreamStatistics(stream, true);
  const rows: [string, string, string][] = [
    [t("statistics.resolution"), resolutionOf(now), "resolution"],
    [t("statistics.fps"), figure(now?.framesPerSecond, "fpsValue"), "fps"],
    [t("statistics.bitrate"), figure(now?.bitrateKbps, "bitrateValue"), "bitrate"],
    [t("statistics.rtt"), figure(now?.roundTripMs, "milliseconds"), "rtt"],
    [t("statistics.jitter"), figure(now?.jitterBufferMs, "milliseconds"), "jitter"],
    [t("statistics.decode"), figure(now?.decodeMs, "milliseconds"), "decode"],
    [t("statistics.dropped"), figure(now?.framesDropped), "dropped"],
    [t("statistics.lost"), figure(now?.packetsLost), "lost"],
    [t("statistics.codec"), now?.codec ?? unknownValue, "codec"],
    [t("statistics.encoder"), hello?.encoder ?? unknownValue, "encoder"],
    [
      t("statistics.quality"),
      quality === undefined ? unknownValue : describeQualityBriefly(quality),
      "quality",
    ],
  ];
  return (
    <aside
      className="statistics"
      aria-label={t("statistics.label")}
      data-testid="stream-statistics"
      translate="no"
    >
      <dl>
        {rows.map(([name, value, key]) => (
          <div key={key}>
            <dt>{name}</dt>
            <dd data-testid={`stream-${key}`}>{value}</dd>
          </div>
        ))}
      </dl>
    </aside>
  );
}

function resolutionOf(now: StreamStatistics | undefined): string {
  const { width, height } = now ?? { width: null, height: null };
  return width === null || height === null ? unknownValue : `${width} × ${height}`;
}

function figure(
  value: number | null | undefined,
  unit?: "fpsValue" | "bitrateValue" | "milliseconds",
): string {
  if (value === null || value === undefined) return unknownValue;
  return unit === undefined ? String(value) : t(`play:statistics.${unit}`, { value });
}

/** Returns the connection's statistics, updated every second while `isWanted`. */
function useStreamStatistics(
  stream: GameStream | undefined,
  isWanted: boolean,
): StreamStatistics | undefined {
  const [statistics, setStatistics] = useState<StreamStatistics>();
  useEffect(() => {
    if (stream === undefined || !isWanted) return;
    let before: StreamCounters | undefined;
    let isOver = false;
    const sample = async (): Promise<void> => {
      const report = await stream.report();
      if (isOver || report === undefined) return;
      const entries: Record<string, unknown>[] = [];
      report.forEach((entry: Record<string, unknown>) => entries.push(entry));
      const now = readCounters(entries);
      setStatistics(statisticsBetween(before, now));
      before = now;
    };
    // A connection that closes during the request has no statistics; the next sample is the next
    // connection's.
    const timer = setInterval(() => void sample().catch(() => undefined), sampleMs);
    return () => {
      isOver = true;
      clearInterval(timer);
    };
  }, [stream, isWanted]);
  return isWanted ? statistics : undefined;
}
