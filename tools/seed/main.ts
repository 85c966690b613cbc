// Creates a demo player, a demo partner and the demo games through the HTTP interface and the `joypod`
// command, and prints how to reach them. Arguments: --base-url, --state (folder), --kubectl (path), --game
// metadata.json=archive.tar.gz or metadata.json=archive.tar.gz=picture.jpg (repeatable).
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { JoypodCli } from "./cli.ts";
import { partnerKeyFile, readOrMakeCredentials } from "./credentials.ts";
import { ensureGame, type DemoGame } from "./games.ts";
import { ensurePartner } from "./partner.ts";
import { ensurePlayer } from "./player.ts";

try {
  await seed();
} catch (error) {
  console.error(`The demo player and games could not be created: ${sentenceOf(error)}`);
  process.exitCode = 1;
}

async function seed(): Promise<void> {
  const options = readOptions();
  const kubeconfig = join(options.state, "kubeconfig");
  await awaitReady(options.baseUrl);
  const cli = new JoypodCli(options.kubectl, kubeconfig);
  const credentials = readOrMakeCredentials(options.state);
  const password = await ensurePlayer(cli, options.baseUrl, credentials.player);
  const partner = await ensurePartner(cli, options.baseUrl, options.state, credentials.partner);
  const titles = [];
  for (const game of options.games) titles.push(await ensureGame(partner, options.state, game, say));

  console.log(`
Joypod is up.
  Web address   ${options.baseUrl}
  Player        ${credentials.player.email}
  Password      ${password}
  Partner key   ${partnerKeyFile(options.state)}
  Games         ${titles.join(", ")}
  KUBECONFIG    ${kubeconfig}

If \`make up\` built the cluster from source, it does not enforce NetworkPolicies. Only the seccomp filter keeps games off the network.`);
}

function readOptions(): { baseUrl: string; state: string; kubectl: string; games: DemoGame[] } {
  const text = { type: "string" } as const;
  const { values } = parseArgs({
    options: {
      "base-url": text,
      state: text,
      kubectl: text,
      game: { type: "string", multiple: true, default: [] },
    },
  });
  const { "base-url": baseUrl, state, kubectl } = values;
  if (baseUrl === undefined || state === undefined || kubectl === undefined)
    throw new Error("--base-url, --state and --kubectl are required.");
  const games = values.game.map((pair) => {
    const [metadata, archive, picture] = pair.split("=");
    if (metadata === undefined || archive === undefined)
      throw new Error(
        `--game ${pair} is not metadata.json=archive.tar.gz or metadata.json=archive.tar.gz=picture.jpg.`,
      );
    return { metadata, archive, picture };
  });
  return { baseUrl, state, kubectl, games };
}

/** Waits until the platform is ready: the NodePort answers shortly after the chart is installed. */
async function awaitReady(baseUrl: string): Promise<void> {
  const deadline = Date.now() + 120_000;
  let last = "";
  while (Date.now() < deadline) {
    try {
      const response = await fetch(`${baseUrl}/readyz`, { signal: AbortSignal.timeout(5000) });
      last = `${response.status} ${await response.text()}`;
      if (response.ok) return;
    } catch (error) {
      last = String(error instanceof Error && error.cause !== undefined ? error.cause : error);
    }
    await delay(500);
  }
  throw new Error(`${baseUrl}/readyz was not ready within two minutes. Last response: ${last}`);
}

function say(line: string): void {
  console.error(line);
}

/** Returns the message of the error. For a failed request, returns its cause, which fetch's message lacks. */
function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message === "fetch failed" && error.cause instanceof Error
    ? `the platform did not answer (${error.cause.message}).`
    : error.message;
}
