/** The process that tries encoders: a driver may hang or crash it, and the streamer goes on with the next encoder. */
import gstreamer from "gstreamer-superficial";
import type { ProbeCommand, ProbeReport } from "./messages.ts";

process.on("message", ({ pipeline }: ProbeCommand) => tryPipeline(pipeline));
process.on("disconnect", () => process.exit(0));

function tryPipeline(description: string): void {
  try {
    const pipeline = new gstreamer.Pipeline(description);
    let isDone = false;
    pipeline.pollBus((message) => {
      if (isDone || (message?.type !== "eos" && message?.type !== "error")) return;
      isDone = true;
      pipeline.stop();
      answer({ works: message.type === "eos", message: message["error-message"] ?? "" });
    });
    pipeline.play();
  } catch (error) {
    answer({ works: false, message: String(error) });
  }
}

function answer(report: ProbeReport): void {
  process.send?.(report);
}
