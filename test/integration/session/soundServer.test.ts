import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { pino } from "pino";
import { soundSink, startSoundServer } from "#streamer/sound/soundServer.ts";
import type { ServerProcess } from "#streamer/processes.ts";

const run = promisify(execFile);

describe("the sound server under a hostile game", function () {
  this.timeout(30_000);
  let folder: string;
  let server: ServerProcess | undefined;
  let isDead: boolean;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "joypod-sound-"));
    isDead = false;
    const socket = join(folder, "pulse.sock");
    mkdirSync(join(socket, "in", "the", "way"), { recursive: true });
    const env = {
      PATH: process.env.PATH ?? "",
      HOME: folder,
      XDG_RUNTIME_DIR: folder,
      XDG_CONFIG_HOME: folder,
      DBUS_SESSION_BUS_ADDRESS: "disabled:",
    };
    server = await startSoundServer({
      socket,
      env,
      logger: pino({ enabled: false }),
      onExit: () => {
        isDead = true;
      },
    });
    if (!server)
      throw new Error(
        "The sound server does not start: install the Debian packages pulseaudio and pulseaudio-utils.",
      );
  });
  after(async () => {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** What a client of the server is told; throws when it is refused. */
  async function ask(...command: string[]): Promise<string> {
    const env = { PATH: process.env.PATH, HOME: folder, PULSE_SERVER: `unix:${folder}/pulse.sock` };
    return (await run("pactl", command, { env, timeout: 10_000 })).stdout;
  }
  async function isRefused(...command: string[]): Promise<boolean> {
    return ask(...command).then(
      () => false,
      () => true,
    );
  }

  it("loads no module for the game, and so opens no connection for it", async () => {
    let connections = 0;
    const listener = createServer((socket) => {
      connections++;
      socket.destroy();
    });
    await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
    const { port } = listener.address() as AddressInfo;
    const tunnel = `server=tcp:127.0.0.1:${port}`;
    try {
      expect(await isRefused("load-module", "module-tunnel-sink", tunnel)).to.equal(true);
      expect(await isRefused("load-module", "module-tunnel-source", tunnel)).to.equal(true);
      expect(await isRefused("load-module", "module-cli-protocol-tcp")).to.equal(true);
      expect(await isRefused("load-module", "module-pipe-sink", `file=${folder}/written`)).to.equal(true);
      expect(connections).to.equal(0);
    } finally {
      listener.close();
    }
  });

  it("neither ends nor loses its sink", async () => {
    expect(await isRefused("exit")).to.equal(true);
    for (const module of ["0", "1", "module-null-sink", "module-native-protocol-unix"])
      await ask("unload-module", module).catch(() => undefined);
    expect(await ask("list", "short", "sinks")).to.contain(soundSink);
    expect(isDead).to.equal(false);
  });
});
