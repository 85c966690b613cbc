import type { GameStream } from "../stream/gameStream.ts";
import {
  type StreamStatistics,
  readCounters,
  statisticsBetween,
  type StreamCounters,
} from "../stream/streamStatistics.ts";
import { qualityWords } from "../quality/qualityText.ts";
import type { HeldQuality, StreamHello } from "./useGameStream.ts";
import { useEffect, useState } from "react";

const sampleMs = 1_000;

/** Figures of the connection, renewed once a second. */
export function StatisticsOverlay({
  stream,
  hello,
  quality,
}: {
  stream: GameStream | undefined;
  hello: StreamHello | undefined;
  quality: HeldQuality | undefined;
}) {
  const now = useStreamStatistics(stream, true);
  const rows: [string, string, string][] = [
    ["Resolution", resolutionOf(now), "resolution"],
    ["Frames", figure(now?.framesPerSecond, "per second"), "fps"],
    ["Bitrate", figure(now?.bitrateKbps, "kbit/s"), "bitrate"],
    ["Round trip", figure(now?.roundTripMs, "ms"), "rtt"],
    ["Jitter buffer", figure(now?.jitterBufferMs, "ms"), "jitter"],
    ["Decoding", figure(now?.decodeMs, "ms"), "decode"],
    ["Frames dropped", figure(now?.framesDropped), "dropped"],
    ["Packets lost", figure(now?.packetsLost), "lost"],
    ["Codec", now?.codec ?? "–", "codec"],
    ["Encoder", hello?.encoder ?? "–", "encoder"],
    ["Quality", quality === undefined ? "–" : qualityWords(quality), "quality"],
  ];
  return (
    <aside className="statistics" aria-label="Stream statistics" data-testid="stream-statistics">
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
  return width === null || height === null ? "–" : `${width} × ${height}`;
}

function figure(value: number | null | undefined, unit = ""): string {
  return value === null || value === undefined ? "–" : `${value} ${unit}`.trim();
}

/** Returns the connection's statistics, renewed once a second while `isWanted`. */
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
