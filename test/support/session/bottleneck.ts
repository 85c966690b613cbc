import { createSocket, type RemoteInfo, type Socket } from "node:dgram";

/** Beyond this much waiting, packets are dropped, as a full router does. */
const maxQueueMs = 400;
const loopback = "127.0.0.1";

/**
 * A narrow and long way between a browser and a streamer, in user space: it needs neither privileges nor
 * kernel modules.
 */
export interface Bottleneck {
  /** Where the browser sends to instead of to the streamer. */
  port: number;
  /**
   * Lets so many kbit/s through towards the browser from now on, each packet `delayMs` late; undefined lets
   * everything through.
   */
  limit(kbps: number | undefined, delayMs?: number): void;
  /**
   * Loses this share of the packets towards the browser from now on, spread at random; 1 loses all of both
   * directions.
   */
  lose(share: number): void;
  /** How long a packet that came now would wait for those before it. */
  queueMs(): number;
  dropped(): number;
  close(): void;
}

/** Opens the way to a streamer's UDP port on this machine. */
export async function openBottleneck(streamerPort: number): Promise<Bottleneck> {
  const front = createSocket("udp4");
  const backs = new Map<string, Socket>();
  const waiting: { at: number; send: () => void }[] = [];
  let bytesPerMs = Infinity;
  let lateMs = 0;
  let freeAt = 0;
  let lostShare = 0;
  let dropped = 0;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  const queueMs = () => Math.max(0, freeAt - performance.now());
  const drain = () => {
    timer = undefined;
    while (!isClosed && waiting[0] && waiting[0].at <= performance.now()) waiting.shift()?.send();
    if (waiting[0]) timer = setTimeout(drain, Math.max(0, waiting[0].at - performance.now()));
  };
  const passSlowly = (bytes: number, send: () => void) => {
    if (queueMs() > maxQueueMs || Math.random() < lostShare) {
      dropped++;
      return;
    }
    freeAt = Math.max(freeAt, performance.now()) + bytes / bytesPerMs;
    waiting.push({ at: freeAt + lateMs, send });
    timer ??= setTimeout(drain, 0);
  };
  const openBack = ({ address, port }: RemoteInfo): Socket => {
    const back = createSocket("udp4");
    back.on("message", (message) => passSlowly(message.length, () => front.send(message, port, address)));
    return back;
  };
  front.on("message", (message, from) => {
    const key = `${from.address}:${from.port}`;
    const back = backs.get(key) ?? openBack(from);
    backs.set(key, back);
    if (lostShare < 1) back.send(message, streamerPort, loopback);
  });
  await new Promise<void>((resolve, reject) => front.on("error", reject).bind(0, loopback, resolve));
  return {
    port: front.address().port,
    limit(kbps, delayMs = 0) {
      bytesPerMs = kbps === undefined ? Infinity : kbps / 8;
      lateMs = delayMs;
      if (kbps === undefined) freeAt = 0;
    },
    lose: (share) => {
      lostShare = share;
    },
    queueMs,
    dropped: () => dropped,
    close() {
      isClosed = true;
      clearTimeout(timer);
      front.close();
      for (const back of backs.values()) back.close();
    },
  };
}
