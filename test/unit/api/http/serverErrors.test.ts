import {
  Agent,
  createServer,
  request,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { expect } from "chai";
import { ServerErrors } from "#api/http/serverErrors.ts";
import { compactHeap } from "#runtime/program/compactHeap.ts";
import { silentLogger } from "#runtime/logger.ts";
import { eventually } from "#test/support/clocks/eventually.ts";

describe("ServerErrors", () => {
  const agent = new Agent({ keepAlive: true });
  let server: Server;
  let latest: WeakRef<ServerResponse> | undefined;

  before(async () => {
    const errors = new ServerErrors({ isSecure: false }, silentLogger);
    server = createServer((incoming, response) => {
      errors.begin(incoming, response);
      latest = new WeakRef(response);
      response.end("whole");
    });
    server.keepAliveTimeout = 60_000; // What a connection keeps goes with it.
    await once(server.listen(0, "127.0.0.1"), "listening");
  });

  after(async () => {
    agent.destroy();
    await once(server.close(), "close");
  });

  it("keeps no response of an idle connection", async () => {
    const outgoing = request({ agent, port: (server.address() as AddressInfo).port }).end();
    const [response] = (await once(outgoing, "response")) as [IncomingMessage];
    expect(await text(response)).to.equal("whole");
    await eventually(
      () => {
        compactHeap();
        return latest !== undefined && latest.deref() === undefined;
      },
      { what: "the response to be forgotten" },
    );
    expect(Object.values(agent.freeSockets).flat(), "connections that wait").to.have.length(1);
  });
});
