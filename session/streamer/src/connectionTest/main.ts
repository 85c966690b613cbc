// Runs on each game node and answers pages that test their connection to it, with the same transport as a
// session.
import { ticketVerifyingKey } from "#contracts/streamTicket.ts";
import { systemClock } from "#runtime/scheduling/clock.ts";
import { createLogger } from "#runtime/program/createLogger.ts";
import { orExit, runProgram } from "#runtime/program/program.ts";
import { readConfig } from "./config.ts";
import { createResponder } from "./responder.ts";
import { createTestServer } from "./server.ts";

const config = orExit(() => readConfig(process.env));
const logger = createLogger({ program: "connection-test", level: config.logLevel });
const responder = createResponder({ config, logger, clock: systemClock });
const server = createTestServer({
  port: config.signalPort,
  responder,
  verifyingKey: ticketVerifyingKey(config.ticketPublicKey),
  logger,
  clock: systemClock,
});

runProgram({
  logger,
  start: async () => {
    await new Promise((resolve, reject) => server.once("listening", resolve).once("error", reject));
    logger.info(
      { udpPort: config.udpPort, node: config.nodeName, addresses: config.addresses },
      "The connection test is ready.",
    );
  },
  stop: () => {
    responder.close();
    server.closeAllConnections();
    return new Promise((resolve) => server.close(() => resolve()));
  },
  stopDeadlineMs: 5_000,
});
