import { createSocket, type RemoteInfo, type Socket } from "node:dgram";

/** Packets that would queue longer than this are dropped, as by a full router. */
const maxQueueMs = 400;
const loopback = "127.0.0.1";

/**
 * A narrow, slow path between a browser and a streamer, in user space, so that it needs neither privileges
 * nor kernel modules.
 */
export interface Bottleneck {
  /** Port that the browser sends to instead of the streamer's. */
  port: number;
  /**
   * Limits the rate towards the browser to `kbps` and delays each packet by `delayMs`; undefined removes the
   * limit.
   */
  limit(kbps: number | undefined, delayMs?: number): void;
  /**
   * Drops this share of the packets towards the browser at random; 1 drops all packets in both directions.
   */
  lose(share: number): void;
  /** Returns how long a packet that arrives now would wait in the queue. */
  queueMs(): number;
  dropped(): number;
  close(): void;
}

/** Opens the path to a streamer's UDP port on this machine. */
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
