/**
 * Watches display and sound in a separate process, as the media process does: a driver may crash it without
 * ending the session.
 */
import gstreamer, { type Element, type Pipeline } from "gstreamer-superficial";
import { stillSink } from "../media/pipelines.ts";
import { isHeard, PictureMeter } from "./meters.ts";
import { lumaBytes, soundSink, pictureSink, type WatchCommand, type WatchReport } from "./watchMessages.ts";

const reportEveryMs = 200;

const pictures = new PictureMeter();
let isSoundHeard = false;
let still: Pipeline | undefined;

process.on("message", (command: WatchCommand) => {
  if (command.type === "still") takeStill(command.pipeline);
  else watch(command);
});
process.on("disconnect", () => process.exit(0));

function watch({ picture, sound }: Extract<WatchCommand, { type: "watch" }>): void {
  follow(picture, pictureSink, (frame) => pictures.add(Buffer.from(frame.subarray(0, lumaBytes))));
  follow(sound, soundSink, (samples) => {
    isSoundHeard ||= isHeard(samples);
  });
  setInterval(() => {
    report({ type: "measured", ...pictures.take(), isHeard: isSoundHeard });
  }, reportEveryMs);
}

function follow(description: string, sinkName: string, onBuffer: (buffer: Buffer) => void): void {
  const pipeline = new gstreamer.Pipeline(description);
  const sink = requireChild(pipeline, sinkName);
  const next = (buffer: Buffer | null) => {
    if (buffer === null) process.exit(1);
    onBuffer(buffer);
    sink.pull(next);
  };
  pipeline.play(); // Must precede the first pull.
  sink.pull(next);
  pipeline.pollBus((message) => {
    if (message?.type === "error") process.exit(1);
  });
}

function takeStill(description: string): void {
  const pipeline = (still ??= new gstreamer.Pipeline(description));
  pipeline.play();
  requireChild(pipeline, stillSink).pull((jpeg) => {
    pipeline.stop();
    if (jpeg !== null) report({ type: "still", jpeg });
  });
}

function requireChild(pipeline: Pipeline, name: string): Element {
  return pipeline.findChild(name) ?? process.exit(1);
}

function report(message: WatchReport): void {
  process.send?.(message);
}
