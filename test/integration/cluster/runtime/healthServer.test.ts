import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { expect } from "chai";
import { Counter, Registry } from "prom-client";
import { HealthServer } from "#runtime/program/healthServer.ts";

describe("HealthServer", () => {
  const registry = new Registry();
  new Counter({ name: "joypod_test_total", help: "Counts.", registers: [registry] });
  let server: HealthServer | undefined;
  let port: number;

  async function start(notReadyReason?: () => string | undefined): Promise<void> {
    server = new HealthServer({ registry, ...(notReadyReason && { notReadyReason }) });
    port = await server.start(0);
  }

  afterEach(async () => {
    await server?.stop();
    server = undefined;
  });

  const get = (path: string) => fetch(`http://127.0.0.1:${port}${path}`);

  it("reports liveness, readiness and why the program is not ready", async () => {
    let reason: string | undefined = "The cluster has not been read yet.";
    await start(() => reason);
    expect(await (await get("/healthz")).text()).to.equal("ok\n");
    const unready = await get("/readyz?verbose");
    expect([unready.status, await unready.text()]).to.deep.equal([
      503,
      "The cluster has not been read yet.\n",
    ]);
    reason = undefined;
    expect((await get("/readyz")).status).to.equal(200);
  });

  it("serves metrics in the Prometheus format", async () => {
    await start();
    const response = await get("/metrics");
    expect(response.headers.get("content-type")).to.equal(registry.contentType);
    expect(await response.text()).to.contain("joypod_test_total 0");
  });

  it("serves no other paths, and no probes without notReadyReason", async () => {
    await start();
    for (const path of ["/", "/healthz", "/readyz", "/metrics/x"])
      expect((await get(path)).status, path).to.equal(404);
  });

  it("handles an invalid request target", async () => {
    await start(() => undefined);
    const socket = connect(port, "127.0.0.1").end("GET // HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    expect(await text(socket)).to.match(/^HTTP\/1\.1 404 /);
    expect((await get("/healthz")).status).to.equal(200);
  });

  it("rejects when its port is in use, and frees it when it stops", async () => {
    await start();
    const second = new HealthServer({ registry });
    expect(await second.start(port).catch((error: unknown) => error)).to.have.property("code", "EADDRINUSE");
    await second.stop();
    await server?.stop();
    expect(await second.start(port)).to.equal(port);
    await second.stop();
  });
});
