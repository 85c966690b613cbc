import { Agent } from "node:http";
import { Agent as SecureAgent } from "node:https";
import { Client } from "minio";

export interface ObjectStoreOptions {
  endpoint: string;
  region: string;
  bucket: string;
  accessKey: string;
  secretKey: string;
  timeoutMs: number;
}

/** The bucket that archives and saves live in. */
export interface ObjectStore {
  client: Client;
  bucket: string;
  /** How long to wait for an answer to what moves no data. */
  timeoutMs: number;
}

/** Of a connection on which nothing moves, in answers: as long as the longest answer may take. */
const silence = 12;

/** A client for any S3; nothing is asked of the store yet. */
export function connectObjectStore({ endpoint, region, bucket, accessKey, secretKey, timeoutMs }: ObjectStoreOptions): ObjectStore {
  const { protocol, hostname, port } = new URL(endpoint);
  const useSSL = protocol === "https:";
  const client = new Client({
    endPoint: hostname.replace(/^\[|\]$/g, ""),
    port: port === "" ? (useSSL ? 443 : 80) : Number(port),
    useSSL,
    accessKey,
    secretKey,
    region,
    pathStyle: true,
    transportAgent: impatientAgent(useSSL, silence * timeoutMs),
  });
  // As over https: parts carry checksums of their own, and hashing each body just to sign it would halve the speed of uploads.
  client.enableSHA256 = false;
  return { client, bucket, timeoutMs };
}

/** The client waits for ever for a store that hangs: here such connections are cut, and what they hold is freed. */
function impatientAgent(isSecure: boolean, silenceMs: number): Agent {
  const agent = new (isSecure ? SecureAgent : Agent)({ keepAlive: true, timeout: silenceMs });
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (options, callback) => {
    const socket = connect(options, callback);
    return socket?.on("timeout", () => socket.destroy(new Error("The object store fell silent.")));
  };
  return agent;
}
