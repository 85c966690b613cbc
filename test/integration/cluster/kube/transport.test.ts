import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KubeConfig } from "@kubernetes/client-node";
import { expect } from "chai";
import { Registry } from "prom-client";
import { type ConfigMap, configMaps } from "#kube/api/builtin.ts";
import { isUnreachable, KubeError } from "#kube/api/errors.ts";
import { KubeMetrics } from "#kube/controllers/metrics.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { KubeTransport } from "#kube/client/transport.ts";
import { DeadlineExceeded } from "#runtime/scheduling/deadline.ts";
import { FakeClock } from "#test/support/clocks/fakeClock.ts";
import { FaultyApi } from "#test/support/cluster/faultyApi.ts";
import { type KubeApiServer, sharedKubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import { listOf } from "#test/support/cluster/seenRequests.ts";
import { TlsCounter } from "#test/support/stores/tlsCounter.ts";

const isList = listOf("configmaps");

describe("KubeTransport", () => {
  let server: KubeApiServer;
  let api: FaultyApi;
  let namespace: string;

  before(async function () {
    this.timeout(60_000);
    server = await sharedKubeApiServer();
    namespace = await server.createNamespace();
  });

  beforeEach(async () => {
    api = await FaultyApi.start(server);
  });

  afterEach(() => api.stop());

  const clientOf = (transport: KubeTransport): ResourceClient<ConfigMap> =>
    new ResourceClient(transport, configMaps);

  it("sends many requests over few connections", async () => {
    const counter = await TlsCounter.start(server.url);
    const transport = transportTo(counter.url);
    try {
      for (let round = 0; round < 10; round++) {
        await Promise.all(Array.from({ length: 20 }, () => clientOf(transport).list({ namespace })));
      }
      expect(counter.connections, "for 200 requests, 20 at a time").to.be.within(1, 50);
    } finally {
      await transport.close();
      await counter.stop();
    }
  });

  it("opens new connections when the client certificate changes, and only then", async () => {
    const directory = mkdtempSync(join(tmpdir(), "joypod-test-rotation-"));
    const clock = new FakeClock();
    const { ca, cert, key } = server.administratorTls;
    const files = {
      caFile: join(directory, "ca"),
      certFile: join(directory, "cert"),
      keyFile: join(directory, "key"),
    };
    writeFileSync(files.caFile, ca);
    writeFileSync(files.certFile, cert);
    writeFileSync(files.keyFile, key);
    const counter = await TlsCounter.start(server.url);
    const config = new KubeConfig();
    config.loadFromClusterAndUser(
      { name: "c", server: counter.url, caFile: files.caFile, skipTLSVerify: false },
      { name: "u", ...files },
    );
    const transport = new KubeTransport(config, { clock });
    const list = async (): Promise<number> => {
      await clientOf(transport).list({ namespace });
      return counter.connections;
    };
    try {
      expect(await list()).to.equal(1);
      await clock.advance(11_000);
      expect(await list(), "the files are read again, but are the same").to.equal(1);
      const other = await server.asUser("rotated", [
        { apiGroups: [""], resources: ["configmaps"], verbs: ["list"] },
      ]);
      const rotated = new KubeConfig();
      rotated.loadFromFile(other.kubeconfigPath);
      const { certData = "", keyData = "" } = rotated.getCurrentUser() ?? {};
      writeFileSync(files.certFile, Buffer.from(certData, "base64"));
      writeFileSync(files.keyFile, Buffer.from(keyData, "base64"));
      expect(await list(), "not looked at yet").to.equal(1);
      await clock.advance(11_000);
      expect(await list()).to.equal(2);
    } finally {
      await transport.close();
      await counter.stop();
      rmSync(directory, { recursive: true });
    }
  });

  it("retries server errors within the allowed attempts", async () => {
    const client = clientOf(api.transport({ random: () => 0 }));
    api.respondOnce(isList, 503);
    api.cutOnce(isList);
    await client.list({ namespace });
    expect(api.requests).to.have.length(3);
    api.respondOnce(({ method }) => method === "POST", 429, {}, { "retry-after": "0" });
    await client.create({ metadata: { name: "once", namespace } });
    expect(api.requests.filter(({ method }) => method === "POST")).to.have.length(2);
  });

  it("does not retry a create that may have been processed", async () => {
    api.cutOnce(({ method }) => method === "POST");
    const error = await clientOf(api.transport())
      .create({ metadata: { name: "twice", namespace } })
      .catch((reason: unknown) => reason);
    expect(isUnreachable(error), String(error)).to.equal(true);
    expect(api.requests).to.have.length(1);
  });

  it("fails immediately when Retry-After exceeds the deadline", async () => {
    api.respondOnce(
      isList,
      429,
      { reason: "TooManyRequests", message: "slow down" },
      { "retry-after": "60" },
    );
    const error = await clientOf(api.transport({ deadlineMs: 5000 }))
      .list({ namespace })
      .catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(KubeError).and.to.include({
      status: 429,
      reason: "TooManyRequests",
      retryAfterSeconds: 60,
      message: "slow down",
    });
  });

  it("ends a request without a response at its deadline or with the caller's abort reason", async () => {
    const client = clientOf(api.transport({ deadlineMs: 1000 }));
    const held = api.holdOnce(isList);
    const late = await client.list({ namespace }).catch((reason: unknown) => reason);
    expect(late).to.be.instanceOf(KubeError).and.to.include({ status: undefined, reason: "Timeout" });
    held.release();
    const again = api.holdOnce(isList);
    const controller = new AbortController();
    const aborted = clientOf(api.transport())
      .list({ namespace, signal: controller.signal })
      .catch((reason: unknown) => reason);
    await again.arrived;
    controller.abort(new Error("changed my mind"));
    expect(String(await aborted)).to.equal("Error: changed my mind");
    again.release();
  });

  it("ends a request that still waits for a connection at its deadline", async () => {
    const frozen = createServer().listen(0, "127.0.0.1");
    await once(frozen, "listening");
    const transport = transportTo(`https://127.0.0.1:${(frozen.address() as AddressInfo).port}`);
    try {
      const late = await transport
        .request({ method: "GET", path: "/version", deadlineMs: 500 })
        .catch((reason: unknown) => reason);
      expect(late).to.be.instanceOf(KubeError).and.to.include({ status: undefined, reason: "Timeout" });
      // The timeout of the connection, ten seconds, would be another cause.
      expect((late as KubeError).cause).to.be.instanceOf(DeadlineExceeded);
    } finally {
      await transport.close();
      frozen.close();
    }
  });

  it("counts every sent request by resource and code", async () => {
    const registry = new Registry();
    const client = clientOf(api.transport({ metrics: new KubeMetrics(registry).requests, random: () => 0 }));
    api.respondOnce(isList, 503);
    api.cutOnce(isList);
    await client.list({ namespace });
    await client.mergePatchStatus({ name: "nobody", namespace }, {}).catch(() => undefined);
    const text = await registry.metrics();
    for (const line of [
      'method="GET",resource="configmaps",code="503"} 1',
      'method="GET",resource="configmaps",code=""} 1',
      'method="GET",resource="configmaps",code="200"} 1',
      'method="PATCH",resource="configmaps/status",code="404"} 1',
    ])
      expect(text).to.contain(line);
  });

  it("names the missing part of the kubeconfig", async () => {
    const transport = new KubeTransport(new KubeConfig());
    const error = await transport
      .request({ method: "GET", path: "/version", deadlineMs: 100 })
      .catch((reason: unknown) => reason);
    expect(String(error)).to.contain("set current-context");
  });

  function transportTo(url: string): KubeTransport {
    const text = readFileSync(server.kubeconfigPath, "utf8").replaceAll(server.url, url);
    const config = new KubeConfig();
    config.loadFromString(text);
    return new KubeTransport(config);
  }
});
