/** What was encoded in the last second. */
export interface Throughput {
  fps: number;
  kbps: number;
}

/** Measures throughput from counters that only grow. */
export interface ThroughputMeter {
  latest(): Throughput;
  stop(): void;
}

const sampleEveryMs = 1_000;

/** Starts to sample the counters once a second. `now` is monotonic, in milliseconds. */
export function createThroughputMeter(
  read: () => { frames: number; videoBytes: number },
  now: () => number,
): ThroughputMeter {
  let last = { ...read(), at: now() };
  let throughput: Throughput = { fps: 0, kbps: 0 };
  const timer = setInterval(() => {
    const next = { ...read(), at: now() };
    const milliseconds = Math.max(1, next.at - last.at);
    throughput = {
      fps: Math.round(((next.frames - last.frames) * 10_000) / milliseconds) / 10,
      kbps: Math.round(((next.videoBytes - last.videoBytes) * 8) / milliseconds),
    };
    last = next;
  }, sampleEveryMs);
  return { latest: () => throughput, stop: () => clearInterval(timer) };
}
