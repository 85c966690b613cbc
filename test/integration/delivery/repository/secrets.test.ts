import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect } from "chai";
import { createPartnerKey } from "#api/partners/keyFormat.ts";
import { repositoryRoot } from "#test/support/processes/programs.ts";

const run = promisify(execFile);

/** What secrets look like, ours and those of services that a developer may have. */
const kinds: Record<string, RegExp> = {
  // But for the one of four letters by which a test of redaction shows their form.
  "private key": /-----BEGIN [A-Z ]*PRIVATE KEY-----(?!\\nMIIB\\n-----END)/,
  "partner's key": /\bjoypod_live_[0-9a-z]{16}_[0-9a-z]{46}\b/,
  // `h1:` begins the checksums of Go modules.
  "signing key": /\b(?!h1:)[A-Za-z0-9_-]{1,32}:[A-Za-z0-9+/]{43}=(?![A-Za-z0-9+/=])/,
  "signed token": /\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,}/,
  "address with a password": /\b[a-z][a-z0-9+.-]*:\/\/[^\s/:@"'`<>${}]+:[^\s/@"'`<>${}]{3,}@/,
  "registry's token": /_authToken\s*=\s*[^\s$]|\bnpm_[A-Za-z0-9]{36}\b/,
  "AWS key": /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/,
  "GitHub token": /\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{30,})/,
  "Google key": /\bAIza[0-9A-Za-z_-]{35}\b/,
  "Slack token": /\bxox[abprs]-[A-Za-z0-9-]{10,}/,
};

/** Values that tests show on purpose and nothing uses. */
const examples = [
  "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789+/AbCdE=",
  "bBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789+/AbCdE=",
  "https://user:pass@",
  "https://user:password@",
  "postgres://joypod:PASSWORD@",
  "rediss://joypod:PASSWORD@",
  "postgres://joypod:secret@",
  "postgres://joypod:hunter22@",
];

function secretsIn(text: string): string[] {
  return Object.entries(kinds)
    .filter(([, pattern]) => pattern.test(text))
    .flatMap(([kind, pattern]) =>
      [...text.matchAll(new RegExp(pattern, "g"))]
        .filter(([found]) => !examples.some((example) => found.endsWith(example)))
        .map(([found]) => `${kind}: ${found.slice(0, 12)}…`),
    );
}

/** Every line that any commit ever added; `git` names the commit and the file before them. */
async function addedLines(): Promise<string[]> {
  const { stdout } = await run(
    "git",
    ["log", "--all", "--patch", "--unified=0", "--no-color", "--no-ext-diff", "--format=commit %h"],
    { cwd: repositoryRoot, maxBuffer: 2 ** 30 },
  ).catch((error: unknown) => {
    throw new Error("The history could not be read: run the tests in a clone made with git.", {
      cause: error,
    });
  });
  return stdout.split("\n");
}

describe("secrets", function () {
  this.timeout(60_000);

  it("are distinguished from other text", () => {
    const samples: Record<string, string> = {
      "private key": ["-----BEGIN RSA", "PRIVATE KEY-----"].join(" "),
      "partner's key": createPartnerKey().key,
      "signing key": `k1:${Buffer.alloc(32, 7).toString("base64")}`,
      "address with a password": ["postgres://joypod", "hunter2@db/joypod"].join(":"),
      "registry's token": ["//registry.example/:_authToken", "abc"].join("="),
      "AWS key": `AKIA${"A1".repeat(8)}`,
      "GitHub token": `ghp_${"a1".repeat(18)}`,
    };
    for (const [kind, sample] of Object.entries(samples))
      expect(secretsIn(`x ${sample} y`), kind)
        .to.have.length(1)
        .and.to.satisfy(([found]: string[]) => found?.startsWith(kind));
    expect(secretsIn("sha512-abc== https://play.example.com/a:b@c k1:short= eyJhbGciOi")).to.be.empty;
  });

  it("were never committed", async () => {
    const found: string[] = [];
    let [commit, file, count] = ["", "", 0];
    for (const line of await addedLines()) {
      if (line.startsWith("commit ")) commit = line.slice(7);
      else if (line.startsWith("+++ ")) file = line.slice(6);
      else if (line.startsWith("+")) {
        count++;
        found.push(...secretsIn(line.slice(1)).map((secret) => `${commit} ${file}: ${secret}`));
      }
    }
    expect(count, "lines that were read").to.be.above(1000);
    expect(found).to.deep.equal([]);
  });

  it("are not in the working tree", async () => {
    const { stdout } = await run("git", ["grep", "--no-color", "--untracked", "-I", "--full-name", ""], {
      cwd: repositoryRoot,
      maxBuffer: 2 ** 30,
    });
    expect(
      stdout
        .split("\n")
        .flatMap((line) => secretsIn(line).map((secret) => `${line.split(":")[0] ?? ""}: ${secret}`)),
    ).to.deep.equal([]);
  });
});
