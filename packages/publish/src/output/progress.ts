import { SingleBar } from "cli-progress";
import type { Clock } from "#runtime/scheduling/clock.ts";
import { bytesText, durationText } from "./text.ts";

/** A long step of known size. */
export interface ProgressStep {
  /** Sets the number of bytes that are done. */
  set(bytes: number): void;
  /** Ends the step, also after a failure. */
  end(): void;
}

/** Shows a person what happens. */
export interface Progress {
  /** Prints a line. */
  note(text: string): void;
  /** Starts a step; only one runs at a time. */
  start(title: string, totalBytes: number): ProgressStep;
}

/** Where progress is shown. The optional parts are those of terminals. */
export interface ProgressOutput {
  write(text: string): unknown;
  isTTY?: boolean | undefined;
}

/** Shows a bar in a terminal, and otherwise prints a line now and then, as logs of CI need it. */
export function createProgress(
  output: NodeJS.WriteStream | ProgressOutput,
  clock: Pick<Clock, "monotonicMs">,
): Progress {
  if (output.isTTY === true && "columns" in output) return createTerminalProgress(output, clock);
  const note = (text: string): void => void output.write(`${text}\n`);
  return { note, start: (title, totalBytes) => startLines(note, clock, title, totalBytes) };
}

const clearLine = "\r\u001b[K";

function createTerminalProgress(stream: NodeJS.WriteStream, clock: Pick<Clock, "monotonicMs">): Progress {
  let hasBar = false;
  return {
    // The bar draws itself again below the line.
    note: (text) => void stream.write(`${hasBar ? clearLine : ""}${text}\n`),
    start(title, totalBytes) {
      const speed = createSpeed(clock, totalBytes);
      const bar = new SingleBar({
        stream,
        format: `${title} [{bar}] {percentage} % | {done} of ${bytesText(totalBytes)}{speed}`,
        barCompleteChar: "=",
        barIncompleteChar: " ",
        barsize: 30,
        hideCursor: true,
        // Interruptions end the step, which ends the bar.
        gracefulExit: false,
      });
      hasBar = true;
      bar.start(Math.max(1, totalBytes), 0, { done: bytesText(0), speed: "" });
      return {
        set: (bytes) => bar.update(bytes, { done: bytesText(bytes), speed: speed(bytes) }),
        end: () => {
          bar.stop();
          hasBar = false;
        },
      };
    },
  };
}

const lineIntervalMs = 10_000;

function startLines(
  note: Progress["note"],
  clock: Pick<Clock, "monotonicMs">,
  title: string,
  totalBytes: number,
): ProgressStep {
  const speed = createSpeed(clock, totalBytes);
  let lastMs = clock.monotonicMs();
  let last = 0;
  const print = (bytes: number): void => {
    const percent = totalBytes === 0 ? 100 : Math.floor((100 * bytes) / totalBytes);
    note(`${title}: ${percent} % (${bytesText(bytes)} of ${bytesText(totalBytes)})${speed(bytes)}`);
    lastMs = clock.monotonicMs();
  };
  return {
    set: (bytes) => {
      last = bytes;
      if (clock.monotonicMs() - lastMs >= lineIntervalMs) print(bytes);
    },
    end: () => print(last),
  };
}

/** Returns the text of the speed since the step's first byte, and the time that is left. */
function createSpeed(clock: Pick<Clock, "monotonicMs">, totalBytes: number): (bytes: number) => string {
  let first: { bytes: number; atMs: number } | undefined;
  return (bytes) => {
    const nowMs = clock.monotonicMs();
    // A resumed upload does not begin at zero.
    if (first === undefined || bytes < first.bytes) first = { bytes, atMs: nowMs };
    const seconds = (nowMs - first.atMs) / 1000;
    const perSecond = (bytes - first.bytes) / seconds;
    if (seconds < 1 || perSecond <= 0) return "";
    const left = bytes < totalBytes ? `, ${durationText((totalBytes - bytes) / perSecond)} left` : "";
    return `, ${bytesText(perSecond)}/s${left}`;
  };
}
