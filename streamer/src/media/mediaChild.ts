/**
 * The process that captures and encodes: GStreamer through gstreamer-superficial, RTP packets to the parent. A driver or an
 * encoder may crash it without taking the session down.
 */
import gstreamer, { type Pipeline } from "gstreamer-superficial";
import type { MediaCommand, MediaReport } from "./messages.ts";
import { audioSink, videoSink } from "./pipelines.ts";

interface Loaded {
  video: Pipeline;
  audio: Pipeline;
  bitrateProperty: string;
}

let loaded: Loaded | undefined;

process.on("message", (command: MediaCommand) => {
  if (command.type === "load") loaded = load(command);
  else if (loaded) obey(loaded, command);
});
process.on("disconnect", () => process.exit(0));

function load({ video, audio, bitrateProperty }: Extract<MediaCommand, { type: "load" }>): Loaded {
  try {
    return { video: new gstreamer.Pipeline(video), audio: new gstreamer.Pipeline(audio), bitrateProperty };
  } catch (error) {
    return fail(`a pipeline cannot be built: ${String(error)}`);
  }
}

function obey({ video, audio, bitrateProperty }: Loaded, command: Exclude<MediaCommand, { type: "load" }>): void {
  switch (command.type) {
    case "play":
      setBitrate(video, bitrateProperty, command.bitrate);
      play(video, videoSink, (packet) => report({ type: "video", packet }));
      play(audio, audioSink, (packet) => report({ type: "audio", packet }));
      break;
    case "bitrate":
      setBitrate(video, bitrateProperty, command.bitrate);
      break;
    case "keyFrame":
      video.forceKeyUnit(videoSink, 0);
      break;
  }
}

function setBitrate(video: Pipeline, property: string, bitrate: number): void {
  const encoder = video.findChild("encoder");
  if (encoder) encoder[property] = bitrate;
}

function play(pipeline: Pipeline, sinkName: string, onPacket: (packet: Buffer) => void): void {
  const sink = pipeline.findChild(sinkName) ?? fail(`the pipeline has no sink ${sinkName}`);
  const next = (packet: Buffer | null) => {
    if (!packet) fail(`${sinkName} ended`);
    sink.pull(next);
    onPacket(packet);
  };
  pipeline.play(); // before the first pull, which would otherwise look like the end
  sink.pull(next);
  pipeline.pollBus((message) => {
    if (message?.type === "error" || message?.type === "eos") fail(`${sinkName}: ${message["error-message"] ?? message.type}`);
  });
}

function report(message: MediaReport): void {
  process.send?.(message);
}

/** The parent starts another child; this one has nothing worth saving. */
function fail(message: string): never {
  report({ type: "failed", message });
  process.exit(1);
}
