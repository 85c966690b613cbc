import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { Gate, Program } from "./strike.ts";

const writing = new Set([
  "SET",
  "SETEX",
  "PSETEX",
  "DEL",
  "UNLINK",
  "INCR",
  "INCRBY",
  "EXPIRE",
  "PEXPIRE",
  "EVAL",
  "EVALSHA",
  "ZADD",
  "ZREM",
  "HSET",
  "SADD",
  "LPUSH",
  "RPUSH",
]);

/** Starts a gate between a program and Redis, and returns its URL. */
export async function startRedisGate({
  gate,
  program,
  url,
}: {
  gate: Gate;
  program: Program;
  url: string;
}): Promise<{ url: string; close: () => Promise<void> }> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => socket.destroy());
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    upstream.on("data", (chunk: Buffer) => client.write(chunk));
    let turn = Promise.resolve();
    client.on("data", (chunk: Buffer) => {
      turn = turn.then(() => pass(gate, program, client, upstream, chunk)).catch(() => void client.destroy());
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const gated = new URL(url);
  gated.port = String((server.address() as AddressInfo).port);
  return {
    url: gated.href,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

/**
 * Forwards commands. They arrive in one piece, because they are short. Several in one piece count as the
 * first write.
 */
async function pass(
  gate: Gate,
  program: Program,
  client: Socket,
  upstream: Socket,
  chunk: Buffer,
): Promise<void> {
  const command = [...chunk.toString("latin1").matchAll(/\*\d+\r\n\$\d+\r\n([A-Za-z]+)\r\n/g)]
    .map(([, name = ""]) => name.toUpperCase())
    .find((name) => writing.has(name));
  if (command === undefined) {
    upstream.write(chunk);
    return;
  }
  const arrival = gate.arrive({ program, store: "redis", what: command });
  const apply = async (): Promise<void> => {
    arrival.settle(true);
    const responded = once(upstream, "data");
    upstream.write(chunk);
    await responded;
  };
  if (arrival.mode === undefined) {
    arrival.settle(true);
    upstream.write(chunk);
    return;
  }
  const cut = (): void => void client.destroy();
  await gate.carryOut(program, arrival.mode, { apply, reply: () => undefined, cut, refuse: cut });
}
