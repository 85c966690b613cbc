import x11, { type Callback, type Client, type XTest } from "x11";

/** A client's connection to the display. */
export interface XConnection {
  client: Client;
  root: number;
  xtest: XTest;
}

/** Connects to the display with the XTEST extension, which injects input. */
export async function connectDisplay(display: string, onLost: () => void): Promise<XConnection> {
  const opened = await promised<{ client: Client; screen: { root: number }[] }>((done) => x11.createClient({ display }, done));
  const { client } = opened;
  // Windows vanish between an event and the request it led to; such errors are ordinary.
  client.on("error", () => undefined);
  client.on("end", onLost);
  const root = opened.screen[0]?.root;
  if (root === undefined) throw new Error(`Display ${display} has no screen.`);
  const xtest = await promised<XTest>((done) => client.require("xtest", done));
  const inject: XTest["FakeInput"] = (...event) => {
    if (!isBehind(client)) xtest.FakeInput(...event);
  };
  return { client, root, xtest: { ...xtest, FakeInput: inject } };
}

/** Requests that wait here for the display: another client may have stopped it for itself (XGrabServer), for ever. */
const maxWaiting = 4_096;

/** Whether the display has stopped taking requests, so that further ones would only fill memory. */
export function isBehind({ pack_stream: { write_queue: waiting } }: Client): boolean {
  return waiting.length > maxWaiting;
}

/** A request's answer as a promise. */
export function promised<T>(request: (done: Callback<T>) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    request((error, value) => {
      if (error) reject(error);
      else resolve(value);
    });
  });
}
