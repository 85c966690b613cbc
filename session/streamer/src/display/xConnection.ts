import x11, { type Callback, type Client, type Display, type WindowEvent, type Xkb, type XTest } from "x11";

/** A rectangle in pixels of the display. */
export interface Rect {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** A client's connection to the display. */
export interface XConnection {
  client: Client;
  root: number;
  /** Size of the display in pixels. The window manager updates it, because a game may change it. */
  size: { width: number; height: number };
  /** The part of the display that is streamed; undefined for all of it. The window manager updates it. */
  view: Rect | undefined;
  /** Returns a number that is the same for all windows of one connection to the display. */
  programOf: (window: number) => number;
  /** Injects input. */
  xtest: XTest;
  /** Switches locks such as Caps Lock. */
  xkb: Xkb;
  /**
   * Returns whether the display has stopped reading requests, so that more of them would only fill memory.
   */
  isBehind: () => boolean;
}

/** Maximum number of queued requests. Another client can block the display forever with XGrabServer. */
const maxQueuedRequests = 4_096;

/** Connects to the display and loads the extensions for input. */
export async function connectDisplay(display: string, onLost: () => void): Promise<XConnection> {
  const opened = await promised<Display>((done) => x11.createClient({ display }, done));
  const { client } = opened;
  client.atoms = { ...client.atoms }; // The library shares its cache between displays, whose numbers differ.
  // A window can vanish between an event and the next request, so such errors are normal.
  client.on("error", () => undefined);
  client.on("end", onLost);
  const [screen] = opened.screen;
  if (screen === undefined) throw new Error(`Display ${display} has no screen.`);
  const { root, pixel_width: width, pixel_height: height } = screen;
  const xtest = await promised<XTest>((done) => client.require("xtest", done));
  const xkb = await promised<Xkb>((done) => client.require("xkb", done));
  await promised((done) => xkb.UseExtension(1, 0, done));
  return {
    client,
    root,
    size: { width, height },
    view: undefined,
    programOf: (window) => (window & ~opened.resource_mask) >>> 0,
    xtest,
    xkb,
    isBehind: () => client.pack_stream.write_queue.length > maxQueuedRequests,
  };
}

const sentByClient = 0x80;

/** Returns whether the server sent the event. Games can send such events too. */
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
