import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { KubeConfig } from "@kubernetes/client-node";
import { expect } from "chai";
import { Authentication } from "#kube/client/authentication.ts";
import { FakeClock } from "#test/support/clocks/fakeClock.ts";

/** A kubeconfig whose plugin returns certificates that the test controls. */
class PluginConfig extends KubeConfig {
  apply: (options: { servername?: string }) => Promise<void> = () => Promise.resolve();

  override applyToHTTPSOptions(options: { servername?: string }): Promise<void> {
    return this.apply(options);
  }
}

describe("a closed Authentication", () => {
  let server: Server;

  /** A server that never responds. */
  before(async () => {
    server = createServer(() => undefined).listen(0, "127.0.0.1");
    await once(server, "listening");
  });

  after(() => {
    server.closeAllConnections();
    server.close();
  });

  function open(): {
    config: PluginConfig;
    authentication: Authentication;
    clock: FakeClock;
    origin: string;
  } {
    const clock = new FakeClock();
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const config = new PluginConfig();
    config.loadFromClusterAndUser({ name: "c", server: origin, skipTLSVerify: true }, { name: "u" });
    return { config, authentication: new Authentication(config, clock), clock, origin };
  }

  it("opens no connections for a request whose plugin was still running", async () => {
    const { config, authentication } = open();
    const plugin = Promise.withResolvers<undefined>();
    config.apply = () => plugin.promise;
    const asked = authentication.credentials().then(
      () => "given",
      (error: unknown) => String(error),
    );
    await authentication.close();
    plugin.resolve(undefined);
    expect(await asked).to.equal("Error: The transport is closed.");
  });

  it("has closed the connections of former certificates", async () => {
    const { config, authentication, clock, origin } = open();
    const { dispatcher } = await authentication.credentials();
    const pending = dispatcher.request({ origin, path: "/", method: "GET" }).then(
      () => "answered",
      () => "cut",
    );
    await once(server, "request");
    config.apply = (options) => {
      options.servername = "another";
      return Promise.resolve();
    };
    await clock.advance(11_000);
    expect((await authentication.credentials()).dispatcher).to.not.equal(dispatcher);
    await authentication.close();
    expect(await pending).to.equal("cut");
  }).timeout(5_000);
});
