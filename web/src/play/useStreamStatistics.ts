import { useEffect, useState } from "react";
import type { GameStream } from "../stream/gameStream.ts";
import {
  readCounters,
  statisticsBetween,
  type StreamCounters,
  type StreamStatistics,
} from "../stream/streamStatistics.ts";

const sampleMs = 1_000;

/** Returns the connection's statistics, renewed once a second while `isWanted`. */
export function useStreamStatistics(
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
