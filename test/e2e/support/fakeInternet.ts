import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { promisify } from "node:util";

const run = promisify(execFile);

const namespace = "joypod-internet";
const outside = "joypod-inet0";
const inside = "joypod-inet1";
/** A small subnet, because other addresses of the range may be in use at a site, for example by a mirror. */
const gateway = "203.0.113.1/28";

/** An address of the range reserved for documentation. */
export const internetAddress = "203.0.113.10";
export const internetPort = 8443;

const listener = `
require("node:net").createServer((socket) => socket.on("error", () => {}).end("reached")).listen(${internetPort}, "${internetAddress}", () => console.log("listening"));
`;

/**
 * A public host for pods to reach: a server in a network namespace of this machine. The namespace has no
 * other route, so it answers only this machine, which translates the addresses of nodes.
 */
export class FakeInternet {
  readonly #server: ChildProcess;

  private constructor(server: ChildProcess) {
    this.#server = server;
  }

  static async start(): Promise<FakeInternet> {
    await removeRemains();
    await run("ip", ["netns", "add", namespace]);
    await run("ip", ["link", "add", outside, "type", "veth", "peer", "name", inside, "netns", namespace]);
    await run("ip", ["address", "add", gateway, "dev", outside]);
    await run("ip", ["link", "set", outside, "up"]);
    await run("ip", ["-n", namespace, "address", "add", `${internetAddress}/28`, "dev", inside]);
    await run("ip", ["-n", namespace, "link", "set", inside, "up"]);
    const server = spawn("ip", ["netns", "exec", namespace, process.execPath, "-e", listener], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await Promise.race([
      once(server.stdout, "data"),
      once(server, "exit").then(() => {
        throw new Error("The fake internet did not start.");
      }),
    ]);
    return new FakeInternet(server);
  }

  async stop(): Promise<void> {
    const ended = this.#server.exitCode === null ? once(this.#server, "exit") : undefined;
    this.#server.kill("SIGKILL");
    await ended;
    await removeRemains();
  }
}

/** Removes server, namespace and the link between both, including those of a killed run. */
async function removeRemains(): Promise<void> {
  const { stdout } = await run("ip", ["netns", "pids", namespace]).catch(() => ({ stdout: "" }));
  for (const pid of stdout.split("\n").filter((line) => line !== "")) {
    try {
      process.kill(Number(pid), "SIGKILL");
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error; // It has ended meanwhile.
    }
  }
  const { stdout: names } = await run("ip", ["netns", "list"]);
  if (new RegExp(`^${namespace}\\b`, "m").test(names)) await run("ip", ["netns", "delete", namespace]);
  const { stdout: links } = await run("ip", ["-o", "link", "show"]);
  if (links.includes(` ${outside}@`)) await run("ip", ["link", "delete", outside]);
}
