import { execFile } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { guideScript, type Guide } from "#test/support/fixtures/guides.ts";
import { programPath } from "#test/support/processes/programs.ts";

const run = promisify(execFile);
const systemAuthorities = "/etc/ssl/certs/ca-certificates.crt";

/** Working folder and environment of the admin. */
export interface GuidedAdminOptions {
  /** Working folder. */
  folder: string;
  kubeconfig: string;
  /** Certificate of an additional CA that the admin's machine trusts. */
  caFile?: string;
  /** Additional environment variables. */
  env?: Record<string, string>;
  timeoutMs: number;
}

/** An admin who follows a guide in docs literally. */
export class GuidedAdmin {
  /** Settings that the guide leaves to the admin. */
  readonly settings: Record<string, string> = {};
  readonly #guide: Guide;
  readonly #options: GuidedAdminOptions;
  readonly #authorities: string;

  constructor(guide: Guide, options: GuidedAdminOptions) {
    this.#guide = guide;
    this.#options = options;
    this.#authorities = join(options.folder, "authorities.crt");
    const trusted = [process.env["SSL_CERT_FILE"] ?? systemAuthorities].filter((file) => existsSync(file));
    if (options.caFile !== undefined) trusted.push(options.caFile);
    writeFileSync(this.#authorities, trusted.map((file) => readFileSync(file, "utf8")).join("\n"));
  }

  /**
   * Runs the guide's commands for these purposes in a separate shell, unchanged or as rewritten by `change`.
   * Returns their output.
   */
  async follow(
    purposes: readonly string[],
    change = (commands: string): string => commands,
  ): Promise<string> {
    const { folder, kubeconfig, env = {}, timeoutMs } = this.#options;
    const programs = await Promise.all(["kubectl", "helm"].map(programPath));
    const { stdout } = await run(
      "bash",
      ["-euo", "pipefail", "-c", change(guideScript(this.#guide, purposes, this.settings))],
      {
        cwd: folder,
        timeout: timeoutMs,
        maxBuffer: 16 * 2 ** 20,
        env: {
          ...process.env,
          ...env,
          PATH: [...programs.map((path) => dirname(path)), process.env["PATH"]].join(delimiter),
          KUBECONFIG: kubeconfig,
          SSL_CERT_FILE: this.#authorities,
        },
      },
    );
    return stdout;
  }
}
