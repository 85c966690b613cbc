import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** A certificate and its private key, as PEM files. */
export interface KeyPair {
  certificateFile: string;
  keyFile: string;
}

/**
 * A certificate authority of the test run with EC keys, in a folder that is removed when the process exits.
 */
export class CertificateAuthority {
  readonly #directory = mkdtempSync(join(tmpdir(), "joypod-test-ca-"));
  #serial = 0;

  private constructor() {
    process.once("exit", () => rmSync(this.#directory, { recursive: true, force: true }));
  }

  static async create(): Promise<CertificateAuthority> {
    const authority = new CertificateAuthority();
    await authority.#openssl([
      "req",
      "-x509",
      "-subj",
      "/CN=joypod-test-ca",
      "-days",
      "2",
      "-out",
      authority.certificateFile,
      ...authority.#newKey("ca"),
    ]);
    return authority;
  }

  get certificateFile(): string {
    return join(this.#directory, "ca.crt");
  }

  /** Returns at least this many bytes of certificates, like a CA bundle. */
  bundle(bytes: number): string {
    const certificate = readFileSync(this.certificateFile, "utf8").trim();
    return Array.from({ length: Math.ceil(bytes / certificate.length) }, () => certificate).join("\n");
  }

  /** Returns a certificate for a server with the given names and addresses. */
  async server(name: string, alternatives: string[]): Promise<KeyPair> {
    return this.#issue(name, `/CN=${name}`, [
      `subjectAltName=${alternatives.join(",")}`,
      "extendedKeyUsage=serverAuth",
    ]);
  }

  /** Returns a client certificate. The API server uses CN as user and O as groups. */
  async client(user: string, groups: string[] = []): Promise<KeyPair> {
    const subject = [...groups.map((group) => `/O=${group}`), `/CN=${user}`].join("");
    return this.#issue(`client-${this.#serial}`, subject, ["extendedKeyUsage=clientAuth"]);
  }

  /** Returns a key pair without a certificate, as used to sign service account tokens. */
  async signingKey(name: string): Promise<{ keyFile: string; publicKeyFile: string }> {
    const keyFile = join(this.#directory, `${name}.key`);
    const publicKeyFile = join(this.#directory, `${name}.pub`);
    await this.#openssl([
      "genpkey",
      "-algorithm",
      "EC",
      "-pkeyopt",
      "ec_paramgen_curve:P-256",
      "-out",
      keyFile,
    ]);
    await this.#openssl(["pkey", "-in", keyFile, "-pubout", "-out", publicKeyFile]);
    return { keyFile, publicKeyFile };
  }

  async #issue(name: string, subject: string, extensions: string[]): Promise<KeyPair> {
    const pair = {
      certificateFile: join(this.#directory, `${name}.crt`),
      keyFile: join(this.#directory, `${name}.key`),
    };
    const request = join(this.#directory, `${name}.csr`);
    const extensionFile = join(this.#directory, `${name}.ext`);
    this.#serial++;
    writeFileSync(extensionFile, extensions.join("\n"));
    await this.#openssl(["req", "-subj", subject, "-out", request, ...this.#newKey(name)]);
    await this.#openssl([
      "x509",
      "-req",
      "-in",
      request,
      "-CA",
      this.certificateFile,
      "-CAkey",
      join(this.#directory, "ca.key"),
      "-set_serial",
      String(this.#serial),
      "-days",
      "2",
      "-extfile",
      extensionFile,
      "-out",
      pair.certificateFile,
    ]);
    return pair;
  }

  #newKey(name: string): string[] {
    return [
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:P-256",
      "-nodes",
      "-keyout",
      join(this.#directory, `${name}.key`),
    ];
  }

  async #openssl(args: string[]): Promise<void> {
    try {
      await run("openssl", args, { timeout: 10_000 });
    } catch (cause) {
      if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") {
        throw new Error("openssl is missing: install the Debian package openssl.", { cause });
      }
      throw cause;
    }
  }
}

/** Returns a file's content in the encoding of kubeconfig files. */
export function base64Of(file: string): string {
  return readFileSync(file).toString("base64");
}
