/**
 * The figures that the player sees of the connection; null if the browser does not report one. Rates are over
 * the last interval.
 */
export interface StreamStatistics {
  width: number | null;
  height: number | null;
  framesPerSecond: number | null;
  bitrateKbps: number | null;
  roundTripMs: number | null;
  jitterBufferMs: number | null;
  decodeMs: number | null;
  packetsLost: number | null;
  framesDropped: number | null;
  /** Such as `H264`. */
  codec: string | null;
}

/** The figures of the browser's report; counters run since the connection's start. */
export interface StreamCounters {
  atMs: number;
  width: number | null;
  height: number | null;
  framesDecoded: number | null;
  framesDropped: number | null;
  bytesReceived: number | null;
  packetsLost: number | null;
  jitterBufferDelay: number | null;
  jitterBufferEmittedCount: number | null;
  totalDecodeTime: number | null;
  roundTripSeconds: number | null;
  codec: string | null;
}

type Entry = Record<string, unknown>;

/** Returns the video's figures of a statistics report. */
export function readCounters(entries: Iterable<Entry>): StreamCounters {
  const all = [...entries];
  const video = all.find(({ type, kind }) => type === "inbound-rtp" && kind === "video") ?? {};
  const pair =
    all.find(
      ({ type, nominated, state }) =>
        type === "candidate-pair" && nominated === true && state === "succeeded",
    ) ?? {};
  const codec = all.find(({ id }) => id !== undefined && id === video["codecId"]) ?? {};
  const of = (entry: Entry, name: string): number | null =>
    typeof entry[name] === "number" ? entry[name] : null;
  return {
    atMs: of(video, "timestamp") ?? 0,
    width: of(video, "frameWidth"),
    height: of(video, "frameHeight"),
    framesDecoded: of(video, "framesDecoded"),
    framesDropped: of(video, "framesDropped"),
    bytesReceived: of(video, "bytesReceived"),
    packetsLost: of(video, "packetsLost"),
    jitterBufferDelay: of(video, "jitterBufferDelay"),
    jitterBufferEmittedCount: of(video, "jitterBufferEmittedCount"),
    totalDecodeTime: of(video, "totalDecodeTime"),
    roundTripSeconds: of(pair, "currentRoundTripTime"),
    codec: typeof codec["mimeType"] === "string" ? codec["mimeType"].replace(/^video\//i, "") : null,
  };
}

/** Returns the statistics of the time between two readings of one connection. */
export function statisticsBetween(before: StreamCounters | undefined, now: StreamCounters): StreamStatistics {
  const seconds = before === undefined ? 0 : (now.atMs - before.atMs) / 1_000;
  const change = (name: keyof StreamCounters): number | null => {
    const [first, second] = [before?.[name], now[name]];
    // A counter that decreased belongs to another connection.
    return typeof first === "number" && typeof second === "number" && second >= first ? second - first : null;
  };
  const perSecond = (name: keyof StreamCounters): number | null => quotient(change(name), seconds);
  return {
    width: now.width,
    height: now.height,
    framesPerSecond: rounded(perSecond("framesDecoded")),
    bitrateKbps: rounded(quotient(perSecond("bytesReceived"), 125)),
    roundTripMs: rounded(now.roundTripSeconds === null ? null : now.roundTripSeconds * 1_000),
    jitterBufferMs: rounded(inMs(quotient(change("jitterBufferDelay"), change("jitterBufferEmittedCount")))),
    decodeMs: rounded(inMs(quotient(change("totalDecodeTime"), change("framesDecoded"))), 1),
    packetsLost: now.packetsLost,
    framesDropped: now.framesDropped,
    codec: now.codec,
  };
}

function quotient(dividend: number | null, divisor: number | null): number | null {
  return dividend === null || divisor === null || divisor <= 0 ? null : dividend / divisor;
}

function inMs(seconds: number | null): number | null {
  return seconds === null ? null : seconds * 1_000;
}

function rounded(value: number | null, digits = 0): number | null {
  return value === null ? null : Number(value.toFixed(digits));
}
