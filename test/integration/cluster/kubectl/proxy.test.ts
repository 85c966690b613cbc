import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { promisify } from "node:util";
import { expect } from "chai";
import { sharedKubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import { repositoryRoot } from "#test/support/processes/programs.ts";
import { temporaryFolder } from "#test/support/processes/temporaryFolder.ts";

const run = promisify(execFile);
const bin = join(repositoryRoot, "kubectl/bin/kubectl-joypod");
/** A host name that only the proxy can resolve. */
const name = "kubernetes.test";

interface Kubeconfig {
  clusters: { cluster: Record<string, string> }[];
}

describe("kubectl joypod behind a proxy", function () {
  this.timeout(60_000);
  let proxy: Server;
  const sockets = new Set<Duplex>();
  /** Targets that clients requested. */
  let targets: (string | undefined)[];
  let address: string;
  let kubeconfig: string;
  let target: string;

  before(async () => {
    const server = await sharedKubeApiServer();
    const { port } = new URL(server.url);
    target = `${name}:${port}`;
    const text = JSON.parse(readFileSync(server.kubeconfigPath, "utf8")) as Kubeconfig;
    for (const { cluster } of text.clusters)
      Object.assign(cluster, { server: `https://${target}`, "tls-server-name": "localhost" });
    kubeconfig = write("kubeconfig", text);
    proxy = createServer().on("connect", ({ url }, client, head) => {
      targets.push(url);
      const upstream = connect(Number(port), "127.0.0.1", () => {
        client.write("HTTP/1.1 200 Connection established\r\n\r\n");
        upstream.write(head);
        upstream.pipe(client).pipe(upstream);
      });
      for (const socket of [client, upstream]) {
        sockets.add(socket);
        socket.on("error", () => socket.destroy());
      }
    });
    proxy.listen(0, "127.0.0.1");
    await once(proxy, "listening");
    address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  });
  beforeEach(() => {
    targets = [];
  });
  after(() => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  });

  function write(file: string, content: Kubeconfig): string {
    const path = join(temporaryFolder("kubectl-proxy"), file);
    writeFileSync(path, JSON.stringify(content), { mode: 0o600 });
    return path;
  }

  /** Returns the program's output when it looks for a release that does not exist. */
  async function said(path: string, variables: Record<string, string>): Promise<string> {
    const ended: unknown = await run(bin, ["--kubeconfig", path, "--namespace", "default", "status"], {
      env: { PATH: process.env["PATH"], ...variables },
    }).catch((error: unknown) => error);
    return (ended as { stderr: string }).stderr;
  }

  it("uses the proxy in HTTPS_PROXY", async () => {
    expect(await said(kubeconfig, { HTTPS_PROXY: address })).to.match(
      /^Joypod was not found in the namespace default/,
    );
    expect(targets).to.deep.equal([target]);
  });

  it("prefers the proxy of the kubeconfig to HTTPS_PROXY", async () => {
    const text = JSON.parse(readFileSync(kubeconfig, "utf8")) as Kubeconfig;
    for (const { cluster } of text.clusters) cluster["proxy-url"] = address;
    expect(await said(write("own", text), { HTTPS_PROXY: "http://127.0.0.1:9" })).to.match(
      /^Joypod was not found in the namespace default/,
    );
    expect(targets).to.deep.equal([target]);
  });
});
