/** Frames and kbit/s over the last second, from counters that only grow. */
export interface Meter {
  rates(): { fps: number; kbps: number };
  stop(): void;
}

const sampleEveryMs = 1_000;

export function createMeter(read: () => { frames: number; videoBytes: number }, now: () => number): Meter {
  let last = { ...read(), at: now() };
  let rates = { fps: 0, kbps: 0 };
  const timer = setInterval(() => {
    const next = { ...read(), at: now() };
    const milliseconds = Math.max(1, next.at - last.at);
    rates = {
      fps: Math.round((next.frames - last.frames) * 10_000 / milliseconds) / 10,
      kbps: Math.round((next.videoBytes - last.videoBytes) * 8 / milliseconds),
    };
    last = next;
  }, sampleEveryMs);
  return { rates: () => rates, stop: () => clearInterval(timer) };
}
