import { createHash, createHmac, randomBytes } from "node:crypto";
import { isIPv6 } from "node:net";

const magic = 0x2112_a442;
const headerBytes = 20;

/** TURN attributes that tests send and read. */
export const attributes = {
  username: 0x0006,
  integrity: 0x0008,
  error: 0x0009,
  channel: 0x000c,
  lifetime: 0x000d,
  peer: 0x0012,
  data: 0x0013,
  realm: 0x0014,
  nonce: 0x0015,
  relayed: 0x0016,
  family: 0x0017,
  transport: 0x0019,
} as const;

/** TURN methods by the message type of a request. */
export const methods = {
  binding: 0x0001,
  allocate: 0x0003,
  refresh: 0x0004,
  send: 0x0016,
  createPermission: 0x0008,
  channelBind: 0x0009,
  connect: 0x000a,
} as const;

/** A STUN message. */
export interface TurnMessage {
  type: number;
  transaction: string;
  attributes: ReadonlyMap<number, Buffer>;
}

/** Credentials, realm and nonce of a request. */
export interface TurnLogin {
  username: string;
  credential: string;
  realm: string;
  nonce: Buffer;
}

/** Returns a request or indication, signed if there is a login. */
export function encodeTurn(
  type: number,
  values: readonly (readonly [number, Buffer])[],
  login?: TurnLogin,
): { packet: Buffer; transaction: string } {
  const transaction = randomBytes(12);
  const all = [...values];
  if (login)
    all.push(
      [attributes.username, Buffer.from(login.username)],
      [attributes.realm, Buffer.from(login.realm)],
      [attributes.nonce, login.nonce],
    );
  const body = Buffer.concat(all.map(([name, value]) => attribute(name, value)));
  const head = (bytes: number): Buffer => {
    const header = Buffer.alloc(headerBytes);
    header.writeUInt16BE(type, 0);
    header.writeUInt16BE(bytes, 2);
    header.writeUInt32BE(magic, 4);
    transaction.copy(header, 8);
    return header;
  };
  const name = transaction.toString("hex");
  if (!login) return { packet: Buffer.concat([head(body.length), body]), transaction: name };
  const key = createHash("md5").update(`${login.username}:${login.realm}:${login.credential}`).digest();
  const signed = Buffer.concat([head(body.length + 24), body]);
  return {
    packet: Buffer.concat([
      signed,
      attribute(attributes.integrity, createHmac("sha1", key).update(signed).digest()),
    ]),
    transaction: name,
  };
}

function attribute(name: number, value: Buffer): Buffer {
  const header = Buffer.alloc(4);
  header.writeUInt16BE(name, 0);
  header.writeUInt16BE(value.length, 2);
  return Buffer.concat([header, value, Buffer.alloc(-value.length & 3)]);
}

/** Returns the message in a packet, or undefined if it is not one. */
export function decodeTurn(packet: Buffer): TurnMessage | undefined {
  if (packet.length < headerBytes || packet.readUInt32BE(4) !== magic) return undefined;
  const found = new Map<number, Buffer>();
  const end = Math.min(packet.length, headerBytes + packet.readUInt16BE(2));
  for (let at = headerBytes; at + 4 <= end;) {
    const size = packet.readUInt16BE(at + 2);
    found.set(packet.readUInt16BE(at), packet.subarray(at + 4, at + 4 + size));
    at += 4 + size + (-size & 3);
  }
  return {
    type: packet.readUInt16BE(0),
    transaction: packet.subarray(8, headerBytes).toString("hex"),
    attributes: found,
  };
}

/** Returns the error code of an error response, or undefined for other messages. */
export function errorOf({ attributes: values }: TurnMessage): number | undefined {
  const value = values.get(attributes.error);
  return value === undefined ? undefined : (value[2] ?? 0) * 100 + (value[3] ?? 0);
}

/** Returns an address in the format of XOR-PEER-ADDRESS. IPv6 addresses must have all eight groups. */
export function peerAddress(address: string, port: number): Buffer {
  const value = Buffer.alloc(isIPv6(address) ? 20 : 8);
  value[1] = isIPv6(address) ? 2 : 1;
  value.writeUInt16BE(port ^ (magic >>> 16), 2);
  if (!isIPv6(address)) {
    address.split(".").forEach((part, index) => value.writeUInt8(Number(part), 4 + index));
    value.writeUInt32BE((value.readUInt32BE(4) ^ magic) >>> 0, 4);
    return value;
  }
  throw new Error("Peers of IPv6 are not sent by this client.");
}
