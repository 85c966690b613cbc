/**
 * Captures and encodes in a separate process: GStreamer through gstreamer-superficial, RTP packets to the
 * parent. A driver or encoder may crash it without ending the session.
 */
import gstreamer, { type Element, type Pipeline } from "gstreamer-superficial";
import { encoderName, type Setting } from "./encoders.ts";
import type { MediaCommand, MediaReport } from "./messages.ts";
import { audioSink, captureName, stillSink, videoSink } from "./pipelines.ts";

interface Loaded {
  video: Pipeline;
  audio: Pipeline;
  capture: Element;
  encoder: Element;
}

type Load = Extract<MediaCommand, { type: "load" }>;
type Still = Extract<MediaCommand, { type: "still" }>;

let loaded: Loaded | undefined;
let isPlaying = false;
/** Kept for all pictures of this process. */
let still: Pipeline | undefined;
let isTakingStill = false;

process.on("message", (command: MediaCommand) => {
  if (command.type === "load") loaded = load(command);
  else if (command.type === "still") takeStill(command.pipeline);
  else if (loaded) execute(loaded, command);
});
process.on("disconnect", () => process.exit(0));

/** Starts the video. Frames encoded before somebody plays are discarded. */
function load(command: Load): Loaded {
  const { video, audio } = buildPipelines(command);
  const [capture, encoder] = [requireChild(video, captureName), requireChild(video, encoderName)];
  startPipeline(video, videoSink, (picture) => {
    if (isPlaying) report({ type: "video", picture });
  });
  return { video, audio, capture, encoder };
}

function buildPipelines({ video, audio }: Load): { video: Pipeline; audio: Pipeline } {
  try {
    return { video: new gstreamer.Pipeline(video), audio: new gstreamer.Pipeline(audio) };
  } catch (error) {
    return fail(`a pipeline cannot be built: ${String(error)}`);
  }
}

function execute(
  { video, audio, capture, encoder }: Loaded,
  command: Exclude<MediaCommand, Load | Still>,
): void {
  switch (command.type) {
    case "play":
      set(encoder, command.settings);
      video.forceKeyUnit(videoSink, 0);
      capture["rate"] = command.fps; // Captures the picture of the key frame.
      if (!isPlaying) startPipeline(audio, audioSink, (packet) => report({ type: "audio", packet }));
      isPlaying = true;
      break;
    case "bitrate":
      set(encoder, command.settings);
      break;
    case "keyFrame":
      video.forceKeyUnit(videoSink, 0);
      capture["rate"] = capture["rate"]; // Captures that picture immediately.
      break;
  }
}

/** A picture that cannot be taken is left out: the stream does not depend on it. */
function takeStill(description: string): void {
  if (isTakingStill) return;
  const pipeline = (still ??= buildStill(description));
  if (pipeline === undefined) return;
  isTakingStill = true;
  pipeline.play();
  requireChild(pipeline, stillSink).pull((jpeg) => {
    isTakingStill = false;
    pipeline.stop(); // Closes the display, until the next picture.
    if (jpeg) report({ type: "still", jpeg });
  });
}

function buildStill(description: string): Pipeline | undefined {
  try {
    return new gstreamer.Pipeline(description);
  } catch (error) {
    report({ type: "noStill", message: String(error) });
    return undefined;
  }
}

function set(element: Element, settings: readonly Setting[]): void {
  for (const [property, value] of settings) element[property] = value;
}

function requireChild(pipeline: Pipeline, name: string): Element {
  return pipeline.findChild(name) ?? fail(`the pipeline has no ${name}`);
}

function startPipeline(pipeline: Pipeline, sinkName: string, onBuffer: (buffer: Buffer) => void): void {
  const sink = requireChild(pipeline, sinkName);
  const next = (buffer: Buffer | null) => {
    if (!buffer) fail(`${sinkName} ended`);
    sink.pull(next);
    onBuffer(buffer);
  };
  pipeline.play(); // Must precede the first pull, which would otherwise report the end of the stream.
  sink.pull(next);
  pipeline.pollBus((message) => {
    if (message?.type === "error" || message?.type === "eos")
      fail(`${sinkName}: ${message["error-message"] ?? message.type}`);
  });
}

function report(message: MediaReport): void {
  process.send?.(message);
}

/** Ends this process, which has no state to save. The parent starts another one. */
function fail(message: string): never {
  report({ type: "failed", message });
  process.exit(1);
}
