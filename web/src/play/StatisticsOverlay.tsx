import type { GameStream } from "../stream/gameStream.ts";
import type { StreamStatistics } from "../stream/streamStatistics.ts";
import { qualityWords } from "../quality/qualityText.ts";
import type { HeldQuality, StreamHello } from "./useGameStream.ts";
import { useStreamStatistics } from "./useStreamStatistics.ts";

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
