/**
 * The process that captures and encodes: GStreamer through gstreamer-superficial, RTP packets to the parent. A driver or an
 * encoder may crash it without taking the session down.
 */
import gstreamer, { type Element, type Pipeline } from "gstreamer-superficial";
import { isFrameEnd } from "../transport/rtpPacket.ts";
import { encoderName } from "./encoders.ts";
import type { MediaCommand, MediaReport } from "./messages.ts";
import { audioSink, captureName, videoSink } from "./pipelines.ts";

interface Loaded {
  video: Pipeline;
  audio: Pipeline;
  capture: Element;
  encoder: Element;
  bitrateProperty: string;
}

type Load = Extract<MediaCommand, { type: "load" }>;

let loaded: Loaded | undefined;
let isPlaying = false;

process.on("message", (command: MediaCommand) => {
  if (command.type === "load") loaded = load(command);
  else if (loaded) obey(loaded, command);
});
process.on("disconnect", () => process.exit(0));

/** The video runs from here on; what it makes before somebody plays goes nowhere. */
function load(command: Load): Loaded {
  const { video, audio } = buildPipelines(command);
  const [capture, encoder] = [childOf(video, captureName), childOf(video, encoderName)];
  const reportPicture = gatherPictures((packets) => report({ type: "video", packets }));
  run(video, videoSink, (packet) => {
    if (isPlaying) reportPicture(packet);
  });
  return { video, audio, capture, encoder, bitrateProperty: command.bitrateProperty };
}

function buildPipelines({ video, audio }: Load): { video: Pipeline; audio: Pipeline } {
  try {
    return { video: new gstreamer.Pipeline(video), audio: new gstreamer.Pipeline(audio) };
  } catch (error) {
    return fail(`a pipeline cannot be built: ${String(error)}`);
  }
}

function obey({ video, audio, capture, encoder, bitrateProperty }: Loaded, command: Exclude<MediaCommand, Load>): void {
  switch (command.type) {
    case "play":
      encoder[bitrateProperty] = command.bitrate;
      video.forceKeyUnit(videoSink, 0);
      capture["rate"] = command.fps; // takes the key frame's picture
      if (!isPlaying) run(audio, audioSink, (packet) => report({ type: "audio", packet }));
      isPlaying = true;
      break;
    case "bitrate":
      encoder[bitrateProperty] = command.bitrate;
      break;
    case "keyFrame":
      video.forceKeyUnit(videoSink, 0);
      capture["rate"] = capture["rate"]; // the picture to be encoded that way is taken at once
      break;
  }
}

function childOf(pipeline: Pipeline, name: string): Element {
  return pipeline.findChild(name) ?? fail(`the pipeline has no ${name}`);
}

/** One message for a picture instead of one for each of its packets, which come at once anyway. */
function gatherPictures(onPicture: (packets: Buffer[]) => void): (packet: Buffer) => void {
  let packets: Buffer[] = [];
  return (packet) => {
    packets.push(packet);
    if (!isFrameEnd(packet)) return;
    onPicture(packets);
    packets = [];
  };
}

function run(pipeline: Pipeline, sinkName: string, onPacket: (packet: Buffer) => void): void {
  const sink = childOf(pipeline, sinkName);
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
