import { copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { request } from "node:https";
import { join } from "node:path";
import { hash } from "bcryptjs";
import { CertificateAuthority } from "../http/certificates.ts";
import { ChildProgram } from "../processes/childProgram.ts";
import { programPath } from "../processes/programs.ts";
import { temporaryFolder } from "../processes/temporaryFolder.ts";

/** An image registry on an address of this machine, with TLS by a separate CA and one user. */
export interface TestRegistry {
  /** `address:port`. */
  host: string;
  /** The CA's certificate, the only file in its folder. */
  caFile: string;
  /** An auth file like that of `docker login`. */
  authFile: string;
  /** Returns the status of the registry's base endpoint, with or without the user's password. */
  status(isSignedIn: boolean): Promise<number>;
  /** Stops it and removes its data. */
  remove(): Promise<void>;
}

export async function startRegistry(address: string, port: number): Promise<TestRegistry> {
  const folder = temporaryFolder("registry");
  const host = `${address}:${port}`;
  const [user, password] = ["puller", "a password of the registry"];
  const authorization = Buffer.from(`${user}:${password}`).toString("base64");
  const authority = await CertificateAuthority.create();
  const { certificateFile, keyFile } = await authority.server("registry", [`IP:${address}`]);
  const authFile = join(folder, "auth.json");
  const users = join(folder, "users");
  const configuration = join(folder, "registry.yaml");
  const certificates = join(folder, "certificates");
  mkdirSync(certificates);
  const caFile = join(certificates, "ca.crt");
  copyFileSync(authority.certificateFile, caFile);
  writeFileSync(authFile, JSON.stringify({ auths: { [host]: { auth: authorization } } }), { mode: 0o600 });
  writeFileSync(users, `${user}:${await hash(password, 4)}\n`);
  writeFileSync(
    configuration,
    JSON.stringify({
      version: 0.1,
      log: { level: "warn" },
      storage: { filesystem: { rootdirectory: join(folder, "content") } },
      http: { addr: host, tls: { certificate: certificateFile, key: keyFile } },
      auth: { htpasswd: { realm: "games", path: users } },
    }),
  );
  const ca = await readFile(caFile);
  const status = (isSignedIn: boolean): Promise<number> =>
    new Promise((resolve, reject) => {
      const headers = isSignedIn ? { authorization: `Basic ${authorization}` } : {};
      request({ host: address, port, path: "/v2/", ca, headers, timeout: 5000 }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      })
        .once("error", reject)
        .once("timeout", () => reject(new Error(`${host} did not answer.`)))
        .end();
    });
  const server = new ChildProgram({
    command: await programPath("registry"),
    args: ["serve", configuration],
    env: { PATH: process.env["PATH"], OTEL_TRACES_EXPORTER: "none" },
    isReady: async () => (await status(true)) === 200,
    install: "run `make programs`, which builds it from its Go module",
  });
  await server.start();
  return {
    host,
    caFile,
    authFile,
    status,
    async remove() {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
