// A peer of the API in the benches: `node peer.ts fastify|bare`, configured by the API's own environment.
import { readConfig } from "#api/config.ts";
import { listenBare } from "./barePeer.ts";
import { listenFastify } from "./fastifyPeer.ts";
import { PeerStores } from "./peerStores.ts";

const [kind] = process.argv.slice(2);
const config = readConfig(process.env);
const stores = new PeerStores(config);
await (kind === "fastify" ? listenFastify(config, stores) : listenBare(config, stores));
