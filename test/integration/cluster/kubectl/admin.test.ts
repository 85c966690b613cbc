import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough, type Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { expect } from "chai";
import { createProgram } from "#kubectl/program.ts";
import { systemClock } from "#runtime/scheduling/clock.ts";
import { ExecProxy } from "#test/support/cluster/execProxy.ts";
import { sharedKubeApiServer, type KubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import { joypodProgram } from "#test/support/processes/controlPlaneProgram.ts";
import { repositoryRoot } from "#test/support/processes/programs.ts";
import { temporaryFolder } from "#test/support/processes/temporaryFolder.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/stores/postgres.ts";

const bin = join(repositoryRoot, "kubectl/bin/kubectl-joypod");

describe("kubectl joypod admin", function () {
  this.timeout(60_000);
  let server: KubeApiServer;
  let database: TestDatabase;
  let namespace: string;
  let proxy: ExecProxy;
  let kubeconfig: string;

  before(async () => {
    [server, database] = await Promise.all([sharedKubeApiServer(), createTestDatabase()]);
    namespace = await server.createNamespace("release");
    const [program = "", ...first] = joypodProgram();
    proxy = await ExecProxy.start(
      async (path) => ({
        status: 200,
        body: JSON.stringify(await server.admin.request({ method: "GET", path })),
      }),
      ([, ...words]) => ({
        program,
        args: [...first, ...words],
        env: {
          PATH: process.env["PATH"],
          DATABASE_URL: database.url,
          PASSWORD_PEPPER: "pepper of the tests",
          BCRYPT_COST: "4",
        },
      }),
    );
    kubeconfig = join(temporaryFolder("kubectl-admin"), "kubeconfig");
    writeFileSync(
      kubeconfig,
      JSON.stringify({
        apiVersion: "v1",
        kind: "Config",
        "current-context": "test",
        clusters: [{ name: "test", cluster: { server: proxy.url, "insecure-skip-tls-verify": true } }],
        contexts: [{ name: "test", context: { cluster: "test", user: "test" } }],
        users: [{ name: "test", user: {} }],
      }),
      { mode: 0o600 },
    );
    await addApi();
  });
  after(async () => {
    proxy.stop();
    await database.drop();
  });

  /** Creates the API's Deployment with two running pods, of which the second is ready. */
  async function addApi(): Promise<void> {
    const labels = {
      "app.kubernetes.io/name": "joypod",
      "app.kubernetes.io/instance": namespace,
      "app.kubernetes.io/component": "api",
    };
    const spec = { containers: [{ name: "api", image: "joypod/control-plane:1" }] };
    const post = (path: string, body: object) => server.admin.request({ method: "POST", path, body });
    await post(`/apis/apps/v1/namespaces/${namespace}/deployments`, {
      metadata: { name: "joypod-api", labels },
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
    });
    const path = `/api/v1/namespaces/${namespace}/pods`;
    for (const [name, status] of [
      ["api-first", "False"],
      ["api-second", "True"],
    ]) {
      await post(path, { metadata: { name, labels }, spec });
      await server.admin.request({
        method: "PATCH",
        path: `${path}/${name}/status`,
        contentType: "application/merge-patch+json",
        body: { status: { phase: "Running", conditions: [{ type: "Ready", status }] } },
      });
    }
  }

  async function joypod(
    args: readonly string[],
    stdin = "",
  ): Promise<{ code: number | null; stdout: string; stderr: string }> {
    const child = spawn(bin, ["admin", ...args, "-n", namespace, "--kubeconfig", kubeconfig], {
      env: { PATH: process.env["PATH"] },
    });
    child.stdin.end(stdin);
    const closed = new Promise<number | null>((resolve) => child.once("close", resolve));
    const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
    return { code, stdout, stderr };
  }

  it("runs the command in a ready pod, with its input, its output and its exit code", async () => {
    const create = ["user", "create", "--email", "ada@admin.test", "--name", "Ada", "--password-stdin"];
    expect(await joypod(create, "correct horse battery\n")).to.deep.equal({
      code: 0,
      stdout: "Created the player ada@admin.test.\n",
      stderr: "",
    });
    const again = await joypod([...create, "--json"], "correct horse battery\n");
    expect([again.code, again.stderr]).to.deep.equal([3, ""]);
    expect(JSON.parse(again.stdout)).to.deep.include({ error: "exists" });
    expect(await joypod(["user", "show", "nobody@admin.test"])).to.deep.equal({
      code: 4,
      stdout: "",
      stderr: "There is no user nobody@admin.test.\n",
    });
    expect(proxy.requests[0]).to.deep.equal({
      pod: "api-second",
      container: "api",
      command: ["joypod", ...create],
      isTerminal: false,
      sizes: [],
    });
    const help = await joypod(["user", "--help"]);
    expect(help.stdout).to.contain("Usage: joypod user");
  });

  it("attaches a terminal, and asks there for a password without showing it", async () => {
    const attach = async (args: string[], stdin: Readable) => {
      const stdout = new PassThrough();
      const modes: boolean[] = [];
      let code: number | undefined;
      const program = createProgram({
        clock: systemClock,
        print: () => undefined,
        streams: {
          stdin: Object.assign(stdin, { isTTY: true, setRawMode: (isRaw: boolean) => modes.push(isRaw) }),
          stdout: Object.assign(stdout, { isTTY: true, columns: 120, rows: 40 }),
          stderr: stdout,
        },
        exit: (given) => (code = given),
        signal: new AbortController().signal,
      });
      const words = ["--kubeconfig", kubeconfig, "-n", namespace, "admin", ...args];
      await program.parseAsync(words, { from: "user" });
      stdout.end();
      return { code, modes, output: await text(stdout) };
    };
    const listed = await attach(["user", "list"], new PassThrough());
    expect(listed).to.deep.include({ code: 0, modes: [true, false] });
    expect(listed.output).to.contain("ADDRESS");
    expect(proxy.requests.at(-1)).to.deep.include({ isTerminal: true, sizes: [{ Width: 120, Height: 40 }] });

    const typed = new PassThrough();
    typed.write("correct horse bx\u007fattery\r");
    const create = ["user", "create", "--email", "bob@admin.test", "--name", "Bob", "--password-stdin"];
    expect(await attach(create, typed)).to.deep.equal({
      code: 0,
      modes: [true, false],
      output: "Password: \nCreated the player bob@admin.test.\n",
    });
  });
});
