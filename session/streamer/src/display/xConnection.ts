import x11, { type Callback, type Client, type Display, type WindowEvent, type XTest } from "x11";

/** A client's connection to the display. */
export interface XConnection {
  client: Client;
  root: number;
  /** Of the display, in pixels; the window manager keeps it, as a game may change it. */
  size: { width: number; height: number };
  /** Injects input. */
  xtest: XTest;
  /** Whether the display has stopped reading requests, so that further requests would only fill memory. */
  isBehind: () => boolean;
}

/** Connects to the display, with the XTEST extension, which injects input. */
export async function connectDisplay(display: string, onLost: () => void): Promise<XConnection> {
  const opened = await promised<Display>((done) => x11.createClient({ display }, done));
  const { client } = opened;
  // A window can vanish between an event and the request that follows; such errors are ordinary.
  client.on("error", () => undefined);
  client.on("end", onLost);
  const [screen] = opened.screen;
  if (screen === undefined) throw new Error(`Display ${display} has no screen.`);
  const { root, pixel_width: width, pixel_height: height } = screen;
  const xtest = await promised<XTest>((done) => client.require("xtest", done));
  return {
    client,
    root,
    size: { width, height },
    xtest,
    isBehind: () => client.pack_stream.write_queue.length > maxQueuedRequests,
  };
}

/** Requests that may be queued for the display, which another client can stop for ever (XGrabServer). */
const maxQueuedRequests = 4_096;

const sentByClient = 0x80;

/** Returns whether the server itself sent the event; games can send such events, too. */
export function isFromServer({ rawData }: Pick<WindowEvent, "rawData">): boolean {
  return ((rawData[0] ?? 0) & sentByClient) === 0;
}

/** Returns a request's reply as a promise. */
export function promised<T>(request: (done: Callback<T>) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    request((error, value) => {
      if (error) reject(error);
      else resolve(value);
    });
  });
}
