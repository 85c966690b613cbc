/**
 * Tries encoders in a separate process, so that the streamer can continue with the next one when a driver
 * hangs or crashes.
 */
import gstreamer from "gstreamer-superficial";
import { probeSink } from "./encoders.ts";
import type { ProbeCommand, ProbeReport } from "./messages.ts";

process.on("message", ({ pipeline }: ProbeCommand) => tryPipeline(pipeline));
process.on("disconnect", () => process.exit(0));

/** An encoder works if an encoded frame comes out. Some end without an error and without a frame. */
function tryPipeline(description: string): void {
  try {
    const pipeline = new gstreamer.Pipeline(description);
    const sink = pipeline.findChild(probeSink);
    let reason = "no frame came out";
    pipeline.pollBus((message) => {
      if (message?.type === "error") reason = message["error-message"] ?? message.type;
    });
    pipeline.play();
    sink?.pull((frame) => {
      pipeline.stop();
      report(frame ? { works: true, message: "" } : { works: false, message: reason });
    });
  } catch (error) {
    report({ works: false, message: String(error) });
  }
}

function report(result: ProbeReport): void {
  process.send?.(result);
}
