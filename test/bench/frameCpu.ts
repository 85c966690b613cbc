import { z } from "zod";
import { eventually } from "#test/support/clocks/eventually.ts";
import { buildGame, prepareSessionImages } from "#test/support/session/containers.ts";
import { startSessionPair, type SessionPair } from "#test/support/session/sessionPair.ts";
import { launchBrowser, openViewer } from "#test/support/session/viewer.ts";
import { atMostRow, median, type BenchRow } from "./row.ts";
import { watch } from "./watch.ts";

const rounds = Number(process.env["ROUNDS"] ?? 3);
const peerFrames = 600;
const kbps = 4_000;
const microsecondsPerTick = 10_000; // USER_HZ is 100 everywhere.

/** GStreamer's own capture at 60 frames/s, followed by our conversion, encoder settings and packets. */
const peerPipeline =
  `ximagesrc use-damage=false num-buffers=${peerFrames} ! video/x-raw,framerate=60/1 ! videoconvert n-threads=2 ! video/x-raw,format=I420` +
  ` ! x264enc bitrate=${kbps} tune=zerolatency speed-preset=ultrafast vbv-buf-capacity=120 bframes=0 threads=2 sliced-threads=true aud=false key-int-max=3600` +
  " ! video/x-h264,profile=constrained-baseline,stream-format=byte-stream ! rtph264pay mtu=1200 aggregate-mode=zero-latency config-interval=-1" +
  " ! fakesink sync=false";

/** Runs the pipeline in a separate process and prints its processor time. */
const peerProgram = `
  const gstreamer = require("/app/node_modules/gstreamer-superficial");
  const pipeline = new gstreamer.Pipeline(${JSON.stringify(peerPipeline)});
  const before = process.cpuUsage();
  pipeline.play();
  pipeline.pollBus((message) => {
    if (message?.type === "error") throw new Error(message["error-message"]);
    if (message?.type !== "eos") return;
    const { user, system } = process.cpuUsage(before);
    console.log(JSON.stringify(user + system));
    process.exit(0);
  });
`;

/**
 * P9: processor time of a 720p frame at 60 frames/s, from capture until the streamer has the packets, without
 * sound. Compared with GStreamer's own capture with the same encoder settings. Both run at the same time on
 * the same display, so that other load on the machine affects both.
 */
export async function measureFrameCpu(): Promise<BenchRow> {
  const images = await prepareSessionImages();
  const archive = await buildGame("testcard", images.game);
  const browser = await launchBrowser();
  const pair = await startSessionPair({
    images,
    game: { archive, launcher: "testcard.sh" },
    streamerEnv: { START_KBPS: String(kbps), MAX_KBPS: String(kbps), CODECS: "h264" },
  });
  const viewer = await openViewer(browser, pair);
  try {
    await watch(viewer);
    await eventually(async () => (await pair.status()).fps > 20, { what: "a running capture" });
    const [ours, peers]: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds; round++) {
      const [framesBefore, cpuBefore] = [await framesSent(pair), await mediaCpuMs(pair)];
      peers.push(
        z.number().parse(JSON.parse(await pair.inStreamer("node", "-e", peerProgram))) / 1_000 / peerFrames,
      );
      ours.push(((await mediaCpuMs(pair)) - cpuBefore) / ((await framesSent(pair)) - framesBefore));
    }
    return atMostRow(
      "P9 processor time per 720p60 frame, ximagesrc ! x264enc",
      median(ours),
      median(peers),
      1,
    );
  } finally {
    await viewer.close();
    await pair.remove();
    await browser.close();
  }
}

/** Threads of the sound pipeline, which the peer does not have. */
const soundThread = /^(queue\d|pulsesrc|threaded-ml|audiosrc)/;

/**
 * Returns the processor time, since its start, of the process that captures and encodes, without its sound
 * threads.
 */
async function mediaCpuMs(pair: SessionPair): Promise<number> {
  const stats = await pair.inStreamer(
    "sh",
    "-c",
    "for p in /proc/[0-9]*; do if tr '\\0' ' ' < $p/cmdline | grep -q 'mediaChild[.]ts'; then cat $p/stat $p/task/*/stat; fi; done",
  );
  // The first line is the process, which includes threads that have ended.
  const [whole, ...threads] = stats
    .trim()
    .split("\n")
    .map((stat) => {
      // Times are fields 14 and 15. Field 2, the name in brackets, may contain spaces.
      const [user, system] = stat
        .slice(stat.lastIndexOf(")") + 2)
        .split(" ")
        .slice(11, 13)
        .map(Number);
      if (user === undefined || system === undefined) throw new Error(`That is no process: ${stat}`);
      return {
        name: stat.slice(stat.indexOf("(") + 1, stat.lastIndexOf(")")),
        ms: ((user + system) * microsecondsPerTick) / 1_000,
      };
    });
  const sound = threads.filter(({ name }) => soundThread.test(name));
  if (whole === undefined || sound.length === 0)
    throw new Error(
      `No media process, or no thread of its sound: ${threads.map(({ name }) => name).join(", ")}`,
    );
  return whole.ms - sound.reduce((sum, { ms }) => sum + ms, 0);
}

async function framesSent(pair: SessionPair): Promise<number> {
  const frames = /^joypod_streamer_video_frames_total (\d+)$/m.exec(await pair.metrics())?.[1];
  if (frames === undefined) throw new Error("The streamer counts no frames.");
  return Number(frames);
}
