import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { Gate, Program } from "./strike.ts";

/** A message of PostgreSQL's protocol version 3, with type and length. */
interface Frame {
  type: string;
  bytes: Buffer;
  body: Buffer;
}

/** Reads the frames of a byte stream. The first frame of a client has no type. */
class FrameReader {
  #rest: Buffer = Buffer.alloc(0);
  #isFirst: boolean;

  constructor(isClient: boolean) {
    this.#isFirst = isClient;
  }

  read(chunk: Buffer): Frame[] {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const frames: Frame[] = [];
    for (;;) {
      const typeBytes = this.#isFirst ? 0 : 1;
      if (this.#rest.length < typeBytes + 4) return frames;
      const length = typeBytes + this.#rest.readInt32BE(typeBytes);
      if (this.#rest.length < length) return frames;
      const bytes = this.#rest.subarray(0, length);
      frames.push({
        type: this.#isFirst ? "startup" : String.fromCharCode(bytes[0] ?? 0),
        bytes,
        body: bytes.subarray(typeBytes + 4),
      });
      this.#rest = this.#rest.subarray(length);
      this.#isFirst = false;
    }
  }
}

/** The statement in a batch of messages. Our programs send one per batch. */
interface Statement {
  name: string;
  text: string;
}

const writing = /\b(INSERT INTO|DELETE FROM|UPDATE)\s+(?:ONLY\s+)?(?:"?public"?\.)?"?([a-z_]+)"?/i;

/**
 * Starts a gate between a program and a database, and returns its URL. The writes of a transaction count at
 * its COMMIT, when they take effect.
 */
export async function startPostgresGate({
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
    new GatedConnection(gate, program, client, upstream);
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
 * A connection of the program, which sends a batch of messages, waits for the response, and then sends the
 * next.
 */
class GatedConnection {
  readonly #gate: Gate;
  readonly #program: Program;
  readonly #client: Socket;
  readonly #upstream: Socket;
  readonly #statements = new Map<string, string>();
  /** Writes of the open transaction; undefined outside of one. */
  #written: string[] | undefined;
  #batch: Frame[] = [];
  /** The response to the last batch. */
  #response: { frames: Frame[]; done: PromiseWithResolvers<Frame[]> } | undefined;
  #turn: Promise<void> = Promise.resolve();

  constructor(gate: Gate, program: Program, client: Socket, upstream: Socket) {
    this.#gate = gate;
    this.#program = program;
    this.#client = client;
    this.#upstream = upstream;
    const [fromClient, fromServer] = [new FrameReader(true), new FrameReader(false)];
    client.on("data", (chunk: Buffer) => {
      for (const frame of fromClient.read(chunk)) this.#receive(frame);
    });
    upstream.on("data", (chunk: Buffer) => {
      for (const frame of fromServer.read(chunk)) this.#respond(frame);
    });
  }

  #receive(frame: Frame): void {
    this.#batch.push(frame);
    // The database responds to a simple query or a Sync as a whole; other messages belong to the same batch.
    if (frame.type !== "Q" && frame.type !== "S") {
      if (["startup", "X", "H", "p"].includes(frame.type))
        this.#upstream.write(Buffer.concat(this.#batch.splice(0).map(({ bytes }) => bytes)));
      return;
    }
    const batch = this.#batch.splice(0);
    this.#turn = this.#turn.then(() => this.#pass(batch)).catch(() => this.#cut());
  }

  #respond(frame: Frame): void {
    if (this.#response === undefined) {
      this.#client.write(frame.bytes);
      return;
    }
    this.#response.frames.push(frame);
    if (frame.type === "Z") this.#response.done.resolve(this.#response.frames);
  }

  async #apply(batch: readonly Frame[]): Promise<Frame[]> {
    // The database ends transactions that are frozen for long.
    if (this.#upstream.destroyed) throw new Error("The database has closed the connection.");
    const done = Promise.withResolvers<Frame[]>();
    const onClose = (): void => done.reject(new Error("The database has closed the connection."));
    this.#upstream.once("close", onClose);
    this.#response = { frames: [], done };
    try {
      this.#upstream.write(Buffer.concat(batch.map(({ bytes }) => bytes)));
      return await done.promise;
    } finally {
      this.#response = undefined;
      this.#upstream.off("close", onClose);
    }
  }

  async #pass(batch: readonly Frame[]): Promise<void> {
    const statement = this.#statementOf(batch);
    const write = statement && this.#writeOf(statement);
    if (write === undefined) {
      const response = await this.#apply(batch);
      if (statement !== undefined) this.#follow(statement, response);
      this.#reply(response);
      return;
    }
    const arrival = this.#gate.arrive({ program: this.#program, store: "database", what: write });
    const apply = async (): Promise<Frame[]> => {
      const response = await this.#apply(batch);
      arrival.settle(isEffective(response));
      this.#written = undefined;
      return response;
    };
    if (arrival.mode === undefined) {
      this.#reply(await apply());
      return;
    }
    await this.#gate.carryOut(this.#program, arrival.mode, {
      apply,
      reply: (response) => this.#reply(response),
      cut: () => this.#cut(),
      refuse: () => this.#refuse(),
    });
  }

  /**
   * Returns the name of the write that the batch makes permanent, or undefined for reads and uncommitted
   * writes. A transaction is named after its first write.
   */
  #writeOf({ name, text }: Statement): string | undefined {
    if (/^COMMIT/i.test(text))
      return this.#written?.[0] === undefined ? undefined : `COMMIT of ${this.#written[0]}`;
    return this.#written === undefined && isWriting(text) ? nameOf({ name, text }) : undefined;
  }

  #follow(statement: Statement, response: readonly Frame[]): void {
    if (/^BEGIN/i.test(statement.text)) this.#written = [];
    else if (/^(ROLLBACK|COMMIT)/i.test(statement.text)) this.#written = undefined;
    else if (this.#written !== undefined && isWriting(statement.text) && isEffective(response))
      this.#written.push(nameOf(statement));
  }

  #statementOf(batch: readonly Frame[]): Statement | undefined {
    for (const { type, body } of batch) {
      if (type === "Q") return { name: "", text: textAt(body, 0) };
      if (type === "P")
        this.#statements.set(textAt(body, 0), textAt(body, Buffer.byteLength(textAt(body, 0)) + 1));
      if (type === "B") {
        const name = textAt(body, Buffer.byteLength(textAt(body, 0)) + 1);
        return { name, text: this.#statements.get(name) ?? "" };
      }
    }
    return undefined;
  }

  #reply(frames: readonly Frame[]): void {
    this.#client.write(Buffer.concat(frames.map(({ bytes }) => bytes)));
  }

  /** Responds like a server that an admin restarts. */
  #refuse(): void {
    const fields = ["SFATAL", "VFATAL", "C57P01", "Mterminating connection due to administrator command"]
      .map((field) => `${field}\0`)
      .join("");
    const body = Buffer.from(`${fields}\0`);
    const head = Buffer.alloc(5);
    head.write("E");
    head.writeInt32BE(body.length + 4, 1);
    this.#client.end(Buffer.concat([head, body]));
    this.#upstream.destroy();
  }

  #cut(): void {
    this.#client.destroy();
    this.#upstream.destroy();
  }
}

function textAt(body: Buffer, start: number): string {
  return body.toString("utf8", start, body.indexOf(0, start));
}

function isWriting(text: string): boolean {
  return writing.test(text.replaceAll(/\b(FOR( NO KEY)?|DO) UPDATE\b/gi, ""));
}

/** Returns the name of a statement. Prisma's are named after their effect. */
function nameOf({ name, text }: Statement): string {
  if (name !== "") return name;
  const [, verb = "", table = ""] = writing.exec(text) ?? [];
  return `${verb.split(" ")[0]?.toLowerCase() ?? ""} ${table}`;
}

/** Returns false for a COMMIT of a failed transaction, which rolls back. */
function isEffective(response: readonly Frame[]): boolean {
  return response.some(
    ({ type, body }) =>
      type === "C" && /^(COMMIT|(INSERT 0|UPDATE|DELETE|SELECT|MERGE) [1-9])/.test(textAt(body, 0)),
  );
}
