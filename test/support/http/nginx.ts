import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "node:net";
import { ChildProgram } from "../processes/childProgram.ts";
import type { KeyPair } from "./certificates.ts";
import { temporaryFolder } from "../processes/temporaryFolder.ts";

/** Debian's nginx with a configuration from docs, in which the test's addresses and files are substituted. */
export class Nginx {
  readonly #program: ChildProgram;

  private constructor(program: ChildProgram) {
    this.#program = program;
  }

  /** Starts it with the content of an `http` block. Resolves once it serves the port. */
  static async start(configuration: string, port: number): Promise<Nginx> {
    const directory = temporaryFolder("nginx");
    const folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map((name) => `${name}_temp_path ${join(directory, name)};`)
      .join("\n");
    const file = join(directory, "nginx.conf");
    const user = process.getuid?.() === 0 ? "user root;" : "";
    writeFileSync(
      file,
      `${user} daemon off; worker_processes 1; pid ${join(directory, "pid")}; error_log stderr;\nevents {}\nhttp {\naccess_log off;\n${folders}\n${configuration}\n}\n`,
    );
    const program = new ChildProgram({
      command: "/usr/sbin/nginx",
      args: ["-c", file, "-p", directory],
      isReady: () => isOpen(port),
      install: "install the Debian package nginx (tools/test/prerequisites.sh)",
    });
    await program.start();
    return new Nginx(program);
  }

  stop(): Promise<void> {
    return this.#program.stop("SIGTERM");
  }
}

/**
 * Returns the configuration with each of these texts replaced.
 *
 * @throws If one does not occur.
 */
export function withReplaced(
  configuration: string,
  replacements: readonly (readonly [RegExp, string])[],
): string {
  return replacements.reduce((text, [pattern, replacement]) => {
    if (!pattern.test(text)) throw new Error(`The configuration has nothing like ${String(pattern)}.`);
    return text.replace(pattern, () => replacement);
  }, configuration);
}

/** Returns the lines of a server's certificate and key. */
export function certificateLines({ certificateFile, keyFile }: KeyPair): string {
  return `ssl_certificate ${certificateFile};\nssl_certificate_key ${keyFile};`;
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket
      .once("connect", () => resolve(true))
      .once("error", () => resolve(false))
      .once("close", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}
