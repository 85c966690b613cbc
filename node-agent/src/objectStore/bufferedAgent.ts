import { Agent, type ClientRequestArgs } from "node:http";
import { connect, type NetConnectOpts, type Socket } from "node:net";

/** One read of a fast connection returns several hundred KiB. */
const readBytes = 1024 * 1024;

/**
 * Keeps connections to the object store, each of which reads into one buffer of its own. The usual way, a new
 * buffer of 64 KiB for each read, costs five times the processor time, and most of it in the garbage
 * collector.
 */
export class BufferedAgent extends Agent {
  constructor() {
    super({ keepAlive: true });
  }

  override createConnection(options: ClientRequestArgs): Socket {
    const socket: Socket = connect({
      ...(options as NetConnectOpts),
      onread: {
        buffer: Buffer.allocUnsafeSlow(readBytes),
        // The HTTP parser listens to this event, and copies what it passes on.
        callback(bytes, buffer) {
          socket.emit("data", Buffer.from(buffer.buffer, buffer.byteOffset, bytes));
          return true;
        },
      },
    });
    return socket;
  }
}
