import { expect } from "chai";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { providersEnv } from "#test/support/oidc/providersFile.ts";
import { controlPlaneProgram } from "#test/support/processes/controlPlaneProgram.ts";
import { repositoryRoot } from "#test/support/processes/programs.ts";

const environment = {
  DATABASE_URL: "postgres://nobody@127.0.0.1:1/none",
  REDIS_URL: "redis://127.0.0.1:1",
  S3_ENDPOINT: "http://127.0.0.1:1",
  S3_ACCESS_KEY: "a",
  S3_SECRET_KEY: "s",
  BASE_URL: "https://play.test",
  SIGNING_KEYS: `a:${randomBytes(32).toString("base64")}`,
  PASSWORD_PEPPER: "sixteen or more characters",
};

/** Runs the API's own entry until it ends. */
function run(env: Record<string, string>): Promise<{ code: number | null; stderr: string }> {
  const child = spawn(process.execPath, [join(repositoryRoot, controlPlaneProgram("api"))], {
    env: { PATH: process.env.PATH, ...environment, ...env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let stderr = "";
  child.stderr.on("data", (text: Buffer) => (stderr += text.toString()));
  return new Promise((resolve, reject) =>
    child.once("error", reject).once("close", (code) => resolve({ code, stderr })),
  );
}

describe("the API's start", function () {
  this.timeout(60_000);

  it("is refused with a weak secret or an invalid provider, which is named without any secret", async () => {
    const oidc = {
      id: "example",
      name: "Example",
      type: "oidc",
      issuer: "http://id.example",
      clientId: "joypod",
      clientSecret: "canary-secret",
    };
    const weak: [Record<string, string>, string][] = [
      [{ SIGNING_KEYS: "a:c2VjcmV0LWNhbmFyeQ==" }, "SIGNING_KEYS"],
      [{ PASSWORD_PEPPER: "short-canary" }, "PASSWORD_PEPPER"],
      [providersEnv([oidc]), "must be https"],
      [{ AUTH_PROVIDERS_FILE: "/nowhere/providers.json" }, "cannot be read: /nowhere/providers.json"],
    ];
    await Promise.all(
      weak.map(async ([env, words]) => {
        const { code, stderr } = await run(env);
        expect(code, stderr).to.equal(1);
        expect(stderr).to.contain(words).and.not.contain("canary").and.not.contain("c2VjcmV0");
      }),
    );
  });
});
