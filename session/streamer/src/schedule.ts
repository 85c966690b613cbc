/** Calls back once after so many milliseconds; returns how to cancel that. */
export type Schedule = (ms: number, callback: () => void) => () => void;

/** Schedules by the process's own timers. */
export const schedule: Schedule = (ms, callback) => {
  const timer = setTimeout(callback, ms);
  return () => clearTimeout(timer);
};
