import { Agent } from "node:http";
import { Agent as SecureAgent } from "node:https";
import { Client } from "minio";

/** Where the object store is, and how it is used. */
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
  /** How long to wait for the response to a request that moves no data. */
  timeoutMs: number;
}

/** How long a connection may be idle, in such timeouts: as long as the slowest response may take. */
const idleTimeouts = 12;

/** Returns a client for any S3 object store; nothing is requested yet. */
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
    transportAgent: createTimeoutAgent(useSSL, idleTimeouts * timeoutMs),
  });
  // As over https: parts carry checksums of their own, and hashing each body just to sign it would halve the speed of uploads.
  client.enableSHA256 = false;
  return { client, bucket, timeoutMs };
}

/** Returns an agent that closes connections which hang; the client itself would wait for ever. */
function createTimeoutAgent(isSecure: boolean, idleMs: number): Agent {
  const agent = new (isSecure ? SecureAgent : Agent)({ keepAlive: true, timeout: idleMs });
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (options, callback) => {
    const socket = connect(options, callback);
    return socket?.on("timeout", () => socket.destroy(new Error("The object store does not respond.")));
  };
  return agent;
}
