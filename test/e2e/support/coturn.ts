import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { once } from "node:events";
import { ChildProgram } from "#test/support/processes/childProgram.ts";

const port = 3478;

/** Address and configuration of coturn. */
export interface CoturnOptions {
  /** Address on which it listens and relays. */
  address: string;
  /** Lines of its `turnserver.conf`, except the address. */
  configuration: string;
  /** Folder of the files that the configuration names. */
  folder: string;
}

/** A third-party TURN server: Debian's coturn on this machine. */
export class Coturn {
  readonly #program: ChildProgram;
  readonly #state = mkdtempSync(join(tmpdir(), "joypod-coturn-"));

  private constructor({ address, configuration, folder }: CoturnOptions) {
    const file = join(this.#state, "turnserver.conf");
    writeFileSync(
      file,
      `${configuration}\nlistening-ip=${address}\nrelay-ip=${address}\nuserdb=${join(this.#state, "users.db")}\npidfile=${join(this.#state, "pid")}\nlog-file=stdout\nno-cli\n`,
    );
    this.#program = new ChildProgram({
      command: "turnserver",
      args: ["-c", file],
      cwd: folder,
      install: "install the Debian package coturn.",
      isReady: async () => {
        const socket = connect(port, address);
        await once(socket, "connect").finally(() => socket.destroy());
        return true;
      },
    });
  }

  static async start(options: CoturnOptions): Promise<Coturn> {
    const coturn = new Coturn(options);
    await coturn.#program.start();
    return coturn;
  }

  async stop(): Promise<void> {
    await this.#program.stop();
    rmSync(this.#state, { recursive: true, force: true });
  }
}
