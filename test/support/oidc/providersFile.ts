import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const directories: string[] = [];
process.once("exit", () => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

/**
 * Writes a configuration of providers, which is removed when the process exits. Returns the environment that
 * refers to it.
 */
export function providersEnv(providers: readonly Record<string, unknown>[]): { AUTH_PROVIDERS_FILE: string } {
  const directory = mkdtempSync(join(tmpdir(), "joypod-providers-"));
  directories.push(directory);
  const file = join(directory, "providers.json");
  writeFileSync(file, JSON.stringify({ providers }));
  return { AUTH_PROVIDERS_FILE: file };
}

/** A provider that never responds, for tests that send it no requests. */
export const awayProvider = {
  type: "oidc",
  id: "away",
  name: "Away",
  issuer: "http://127.0.0.1:1",
  clientId: "joypod",
  allowInsecure: true,
};
