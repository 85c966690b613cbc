import { execFile } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { guideScript, type Guide } from "#test/support/fixtures/guides.ts";
import { programPath } from "#test/support/processes/programs.ts";

const run = promisify(execFile);
const systemAuthorities = "/etc/ssl/certs/ca-certificates.crt";

/** Where the admin is, and what their machine knows. */
export interface GuidedAdminOptions {
  /** Where the admin works. */
  folder: string;
  kubeconfig: string;
  /** Of an authority that the admin's machine trusts beside those that it trusts anyway. */
  caFile?: string;
  /** What the admin has set beside what the guide leaves to them. */
  env?: Record<string, string>;
  timeoutMs: number;
}

/** An admin who follows a guide of docs as it is written. */
export class GuidedAdmin {
  /** What the guide leaves to the admin. */
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
   * Runs the guide's commands for these purposes, as they are or as changed, in a shell of their own; returns
   * what they print.
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
