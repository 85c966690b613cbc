import { z } from "zod";
import { signalPort } from "#contracts/stream.ts";
import { TicketPublicKey } from "#contracts/streamTicket.ts";
import { listed, logLevel, readEnvironment, type Environment } from "#runtime/program/readEnvironment.ts";

const port = z.coerce.number().int().min(1).max(65_535);
const address = z.union([z.ipv4(), z.ipv6()]);
/** A comma-separated list of addresses. */
const addresses = z.string().default("").transform(listed).pipe(z.array(address).max(8));

const Variables = z.object({
  SIGNAL_PORT: port.default(signalPort),
  UDP_PORT: port,
  NODE_NAME: z.string().min(1).max(253),
  TICKET_PUBLIC_KEY: TicketPublicKey,
  ANNOUNCE_ADDRESSES: addresses,
  HOST_IPS: addresses,
  MAX_TESTS: z.coerce.number().int().min(1).max(64).default(4),
  MAX_KBPS: z.coerce.number().int().min(500).max(100_000).default(12_000),
  LOG_LEVEL: logLevel,
});

/** Validated configuration of a responder. */
export type Config = ReturnType<typeof readConfig>;

/**
 * Returns the configuration.
 *
 * @throws Error that names every invalid variable.
 */
export function readConfig(environment: Environment) {
  const env = readEnvironment(Variables, environment, "connection test");
  const announced = env.ANNOUNCE_ADDRESSES.length > 0 ? env.ANNOUNCE_ADDRESSES : env.HOST_IPS;
  if (announced.length === 0)
    throw new Error("Set ANNOUNCE_ADDRESSES or HOST_IPS, so that browsers can reach the connection test.");
  return {
    signalPort: env.SIGNAL_PORT,
    udpPort: env.UDP_PORT,
    nodeName: env.NODE_NAME,
    ticketPublicKey: env.TICKET_PUBLIC_KEY,
    addresses: announced,
    maxTests: env.MAX_TESTS,
    /** Maximum bitrate of one test, in kbit/s. */
    maxKbps: env.MAX_KBPS,
    logLevel: env.LOG_LEVEL,
  };
}
