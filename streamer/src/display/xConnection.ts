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
  return { client, root, xtest: await promised<XTest>((done) => client.require("xtest", done)) };
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
