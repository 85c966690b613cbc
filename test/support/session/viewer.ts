import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { existsSync } from "node:fs";
import { chromium, type Browser, type Page } from "playwright-core";
import { z } from "zod";
import { StreamNotice, type StreamInput } from "#contracts/stream.ts";
import type { ViewerRole } from "#contracts/viewerRole.ts";
import type { Picture, PictureArea } from "../browser/picture.ts";
import type { SessionPair } from "./sessionPair.ts";
import { bearing } from "./tickets.ts";

const chromiumPath = "/usr/bin/chromium";

const Inbound = z.object({
  framesDecoded: z.number(),
  keyFramesDecoded: z.number(),
  framesPerSecond: z.number(),
  packetsLost: z.number(),
  freezeCount: z.number(),
  audioLevel: z.number(),
  packetsReceived: z.number(),
  codec: z.string(),
  totalFreezesDuration: z.number(),
  concealedSamples: z.number(),
  totalSamplesReceived: z.number(),
  jitterBufferDelay: z.number(),
  jitterBufferEmittedCount: z.number(),
  /** When the current picture and sound were sent, on the streamer's clock; null before the browser knows. */
  estimatedPlayoutTimestamp: z.number().nullable(),
  frameWidth: z.number(),
  frameHeight: z.number(),
  bytesReceived: z.number(),
  timestamp: z.number(),
});
/** Statistics of the browser's incoming streams. */
export const StreamStats = z.object({
  state: z.string(),
  video: Inbound.optional(),
  audio: Inbound.optional(),
});
const Connected = z.object({ status: z.number(), body: z.string(), firstFrameMs: z.number().optional() });
const Rgb = z.tuple([z.number(), z.number(), z.number()]);

/** A page that plays a session in a real browser. */
export interface Viewer extends Picture {
  page: Page;
  /**
   * Removes lines of the offer that match an expression in `without`, like a browser without that capability.
   */
  connect(options?: {
    client?: string;
    takeover?: boolean;
    codec?: string;
    without?: readonly string[];
  }): Promise<z.infer<typeof Connected>>;
  reload(): Promise<void>;
  send(...messages: StreamInput[]): Promise<void>;
  sendRaw(text: string): Promise<void>;
  press(code: string): Promise<void>;
  hangUp(): Promise<number>;
  stats(): Promise<z.infer<typeof StreamStats>>;
  notices(): Promise<StreamNotice[]>;
  /** Returns the longest time between two frames on the page since the last call, in milliseconds. */
  takeLongestGap(): Promise<number>;
  close(): Promise<void>;
}

/** Starts Chromium. Fails with installation instructions when it is missing. */
export async function launchBrowser(): Promise<Browser> {
  if (!existsSync(chromiumPath))
    throw new Error("The streaming tests need a browser: install the Debian package chromium.");
  return chromium.launch({
    executablePath: chromiumPath,
    args: [
      "--no-sandbox",
      "--autoplay-policy=no-user-gesture-required",
      "--disable-features=WebRtcHideLocalIpsWithMdns",
    ],
  });
}

/** Where a streamer accepts offers, and who signs its tickets. */
type ViewedStreamer = Pick<SessionPair, "signalUrl" | "tickets">;

export interface ViewerOptions {
  /** Claims of its ticket; to play by default. */
  role?: ViewerRole;
  /** Makes the browser send media to this port of the machine instead of the streamer's. */
  mediaPort?: number;
}

/** Opens a page on an origin that forwards signalling to a streamer with a ticket, like the API. */
export async function openViewer(
  browser: Browser,
  streamer: ViewedStreamer,
  options: ViewerOptions = {},
): Promise<Viewer> {
  const server = await servePage(streamer, options);
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 720 } })).newPage();
  const address = server.address();
  await page.goto(`http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}/`);
  const call = (expression: string): Promise<unknown> => page.evaluate(expression);
  const send = async (...messages: StreamInput[]) => {
    for (const message of messages) await call(`send(${JSON.stringify(message)})`);
  };
  return {
    page,
    async connect({ client, takeover, codec, without = [] } = {}) {
      const query = new URLSearchParams({ ...(client && { client }), ...(takeover && { takeover: "true" }) });
      return Connected.parse(
        await call(
          `connect(${JSON.stringify(query.size > 0 ? `?${query.toString()}` : "")}, ${JSON.stringify(codec ?? null)}, ${JSON.stringify(without)})`,
        ),
      );
    },
    reload: async () => {
      await page.reload();
    },
    send,
    sendRaw: async (text) => {
      await call(`sendRaw(${JSON.stringify(text)})`);
    },
    press: (code) => send({ t: "key", c: code, d: 1 }, { t: "key", c: code, d: 0 }),
    hangUp: async () => z.number().parse(await call("hangUp()")),
    color: async (area) => Rgb.parse(await call(`areaColor(${JSON.stringify(middleHalf(area))})`)),
    colors: async (areas) =>
      z.array(Rgb).parse(await call(`${JSON.stringify(areas.map(middleHalf))}.map(areaColor)`)),
    stats: async () => StreamStats.parse(await call("streamStats()")),
    notices: async () => z.array(StreamNotice).parse(await call("notices")),
    takeLongestGap: async () => z.number().parse(await call("takeLongestGap()")),
    async close() {
      await page.context().close();
      server.close();
    },
  };
}

function middleHalf({ x, y, width, height }: PictureArea): PictureArea {
  return { x: x + width / 4, y: y + height / 4, width: width / 2, height: height / 2 };
}

async function servePage(
  { signalUrl, tickets }: ViewedStreamer,
  { mediaPort, role = "play" }: ViewerOptions,
): Promise<Server> {
  const html = await readFile(new URL("./viewerPage.html", import.meta.url));
  const server = createServer((request, response) => {
    if (!request.url?.startsWith("/whep")) {
      response.writeHead(200, { "content-type": "text/html" }).end(html);
      return;
    }
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
      const upstream = await fetch(signalUrl + (request.url ?? ""), {
        method: request.method ?? "GET",
        headers: {
          "content-type": request.headers["content-type"] ?? "",
          ...bearing(tickets.viewer({ role })),
        },
        ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
      });
      const location = upstream.headers.get("location");
      const text = await upstream.text();
      const body =
        mediaPort === undefined
          ? text
          : text.replace(/^(a=candidate:.* )\d+( typ host)/m, `$1${mediaPort}$2`);
      response.writeHead(upstream.status, { ...(location && { location }) }).end(body);
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}
