import { execFile } from "node:child_process";
import { z } from "zod";

const PartnerKey = z.object({ key: z.string().min(1) });

/** Exit code of `joypod user create` if the address is taken. kubectl passes it on. */
const existsExitCode = 3;

/** Runs the `joypod` command in the API's container. */
export class JoypodCli {
  readonly #kubectl: string;
  readonly #kubeconfig: string;

  constructor(kubectl: string, kubeconfig: string) {
    this.#kubectl = kubectl;
    this.#kubeconfig = kubeconfig;
  }

  /** Creates a user. Returns false if the address is taken. */
  async createUser(email: string, name: string, password: string): Promise<boolean> {
    try {
      await this.#run(
        ["user", "create", "--email", email, "--name", name, "--password-stdin", "--json"],
        password,
      );
      return true;
    } catch (error) {
      if (exitCodeOf(error) === existsExitCode) return false;
      throw error;
    }
  }

  /** Creates players with existing bcrypt hashes. */
  async importUsers(users: readonly { email: string; name: string; passwordHash: string }[]): Promise<void> {
    await this.#run(["user", "import", "--json"], users.map((user) => `${JSON.stringify(user)}\n`).join(""));
  }

  async createPartner(name: string): Promise<void> {
    await this.#run(["partner", "create", "--name", name, "--json"]);
  }

  /** Creates a key for the partner and returns it. It cannot be read again later. */
  async createPartnerKey(partner: string): Promise<string> {
    const output = await this.#run(["partner", "key", "create", "--partner", partner, "--json"]);
    return PartnerKey.parse(JSON.parse(output)).key;
  }

  /** Returns the standard output of the command. @throws With its standard error if it fails. */
  #run(command: string[], input = ""): Promise<string> {
    const args = [
      "--kubeconfig",
      this.#kubeconfig,
      "--namespace",
      "joypod",
      "exec",
      "--stdin",
      "deploy/joypod-api",
      "--container",
      "api",
      "--",
      "joypod",
      ...command,
    ];
    return new Promise((resolve, reject) => {
      const child = execFile(this.#kubectl, args, { timeout: 60_000 }, (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else
          reject(
            new Error(
              `joypod ${command.slice(0, 3).join(" ")} failed: ${stderr.trim() || stdout.trim() || error.message}`,
              { cause: error },
            ),
          );
      });
      child.stdin?.on("error", () => undefined); // If the command ends early, its standard error has the reason.
      child.stdin?.end(input);
    });
  }
}

function exitCodeOf(error: unknown): unknown {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && "code" in cause ? cause.code : undefined;
}
