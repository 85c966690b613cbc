// Starts a peer of the API for benchmarks: `node peer.ts fastify|bare`. Configured by the API's environment
// variables.
import { readConfig } from "#api/config.ts";
import { listenBare } from "./barePeer.ts";
import { listenFastify } from "./fastifyPeer.ts";
import { PeerStores } from "./peerStores.ts";

const [kind] = process.argv.slice(2);
const config = readConfig(process.env);
const stores = new PeerStores(config);
await (kind === "fastify" ? listenFastify(config, stores) : listenBare(config, stores));
