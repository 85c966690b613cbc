import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { freePort } from "#test/support/processes/childProgram.ts";
import { repositoryRoot } from "#test/support/processes/programs.ts";

const run = promisify(execFile);

/** An engine that has the containers of a cluster of two nodes, and writes down what it is asked. */
const engine = `echo "$*" >>asked
case $1 in
  ps) [ ! -e broken ] && printf 'joypod-control-plane\\njoypod-worker\\n' ;;
  inspect) cat "\${!#}" ;;
  start) echo running >"$2" ;;
  info) [ ! -e down ] ;;
esac`;

/** A kubectl that has the contexts work and play, and whose API server listens from the second look on. */
const kubectl = `case $* in
  *'config view'*'--context work') echo 'the kubeconfig of work' ;;
  *'config view'*'--context play') echo 'the kubeconfig of play' ;;
  *'config view'*) echo 'no such context' >&2; exit 1 ;;
  *'get --raw /readyz'*) if [ ! -e looked ]; then touch looked; exit 1; fi; touch listens ;;
  *'wait --for'*) [ -e listens ] ;;
  *'get nodes -o name'*) printf 'node/joypod-control-plane\\nnode/joypod-worker\\n' ;;
esac`;

describe("the cluster scripts", function () {
  this.timeout(30_000);
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "joypod-cluster-scripts-"));
    const programs: Record<string, string> = { docker: engine, kubectl, helm: "exit 0", kind: "exit 1" };
    for (const [name, script] of Object.entries(programs))
      write(`bin/${name}`, `#!/bin/bash\ncd ${folder}\n${script}\n`, 0o755);
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const read = (path: string): string => readFileSync(join(folder, path), "utf8");

  function write(path: string, content: string, mode = 0o644): void {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content, { mode });
  }

  /** A cluster of one game node that was made here. */
  function addCluster(webPort: number, controlPlane: "exited" | "running", worker = controlPlane): void {
    write("joypod-control-plane", `${controlPlane}\n`);
    write("joypod-worker", `${worker}\n`);
    write(
      "cache/clusters/joypod/state.env",
      `ENGINE=docker\nFROM_SOURCE=no\nWEB_PORT=${webPort}\nGAME_NODES=1\nREADY=yes\n`,
    );
    write("cache/clusters/joypod/kubeconfig", "the kubeconfig of the cluster made here\n");
  }

  function expectItIsKept(): void {
    expect(read("asked")).to.not.match(/^(kill|rm|volume|network) /m);
    expect(read("cache/clusters/joypod/kubeconfig")).to.equal("the kubeconfig of the cluster made here\n");
  }

  function expectItRuns(): void {
    expect([read("joypod-control-plane"), read("joypod-worker")]).to.deep.equal(["running\n", "running\n"]);
    expectItIsKept();
  }

  /** Runs tools/cluster/up.sh, or another script, and returns the path of the kubeconfig that it names. */
  async function bringUp(env: NodeJS.ProcessEnv = {}, script = "tools/cluster/up.sh"): Promise<string> {
    const { stdout } = await run(join(repositoryRoot, script), {
      env: {
        PATH: `${join(folder, "bin")}:/usr/bin:/bin`,
        HOME: folder,
        JOYPOD_CACHE: join(folder, "cache"),
        JOYPOD_ENGINE: "docker",
        JOYPOD_FROM_SOURCE: "no",
        ...env,
      },
    });
    return /^KUBECONFIG=(.+)$/m.exec(stdout)?.[1] ?? "";
  }

  /** Returns what the script says when it fails. */
  async function failure(env: NodeJS.ProcessEnv = {}, script?: string): Promise<string> {
    const ended: unknown = await bringUp(env, script).then(
      () => ({ stderr: "It did not fail." }),
      (error: unknown) => error,
    );
    return (ended as { stderr: string }).stderr;
  }

  it("keep separate kubeconfigs for each context and for the local cluster", async () => {
    addCluster(8080, "running");
    const paths = [
      await bringUp({ JOYPOD_KUBE_CONTEXT: "work" }),
      await bringUp({ JOYPOD_KUBE_CONTEXT: "play" }),
    ];
    expect(paths.map((path) => readFileSync(path, "utf8"))).to.deep.equal([
      "the kubeconfig of work\n",
      "the kubeconfig of play\n",
    ]);
    expect(read("cache/clusters/joypod/kubeconfig")).to.equal("the kubeconfig of the cluster made here\n");
  });

  it("do not change a context's kubeconfig when the context no longer exists", async () => {
    const path = await bringUp({ JOYPOD_KUBE_CONTEXT: "work" });
    write("bin/kubectl", "#!/bin/bash\nexit 1\n", 0o755);
    expect(await failure({ JOYPOD_KUBE_CONTEXT: "work" })).to.contain("your kubeconfig has no context work.");
    expect(readFileSync(path, "utf8")).to.equal("the kubeconfig of work\n");
    expect(readdirSync(dirname(path))).to.deep.equal(["kubeconfig"]);
  });

  it("start a stopped cluster with a slow API server, and keep its data", async () => {
    addCluster(await freePort(), "exited");
    expect(await bringUp()).to.equal(join(folder, "cache/clusters/joypod/kubeconfig"));
    expectItRuns();
  });

  it("wait for the API server when the nodes are running and use the port, and keep the data", async () => {
    // The cluster itself listens there.
    const web = createServer().listen(0, "127.0.0.1");
    await once(web, "listening");
    addCluster((web.address() as AddressInfo).port, "running");
    try {
      await bringUp();
    } finally {
      web.close();
    }
    expectItRuns();
  });

  it("start the stopped nodes of a partly running cluster, and keep its data", async () => {
    addCluster(await freePort(), "running", "exited");
    await bringUp();
    expectItRuns();
  });

  it("keep a cluster that does not become healthy, and print what to do", async () => {
    addCluster(await freePort(), "running");
    write("bin/kubectl", `#!/bin/bash\ncase $* in *'get --raw /readyz'*) exit 0 ;; esac\nexit 1\n`, 0o755);
    expect(await failure()).to.contain(
      "the cluster joypod is not healthy and was left unchanged. Try again, or remove it with its data: make clean-cluster.",
    );
    expectItIsKept();
  });

  for (const [what, state, sentence] of [
    ["does not answer", "down", "the container engine docker does not answer; start it."],
    ["does not say what runs", "broken", "docker cannot list the containers of the cluster joypod"],
  ] as const) {
    it(`keep a cluster whose engine ${what}, both when starting and when removing it`, async () => {
      addCluster(8080, "running");
      write(state, "");
      expect(await failure()).to.contain(sentence);
      expect(await failure({}, "tools/cluster/delete.sh")).to.contain(sentence);
      expectItIsKept();
      expect(read("cache/clusters/joypod/state.env")).to.contain("READY=yes");
    });
  }

  it("remove an incomplete cluster of a killed run", async () => {
    addCluster(8080, "running");
    write(
      "cache/clusters/joypod/state.env",
      "ENGINE=docker\nFROM_SOURCE=no\nWEB_PORT=\nGAME_NODES=1\nREADY=no\n",
    );
    expect(await failure()).to.contain("The cluster joypod is incomplete. Creating it again.");
    expect(read("asked")).to.match(/^rm --force --volumes joypod-worker$/m);
  });

  it("keep a stopped cluster, with an error message, while its port is in use", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    addCluster(port, "exited");
    try {
      expect(await failure()).to.contain(`joypod: port ${port} of the cluster joypod is in use. Free it,`);
    } finally {
      other.close();
    }
    expect(read("asked")).to.not.match(/^start /m);
    expectItIsKept();
  });
});
