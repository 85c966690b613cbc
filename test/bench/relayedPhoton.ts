import { median } from "./row.ts";
import { measureStreamPhoton } from "./photon.ts";
import { NetworkPlayer } from "#test/support/network/networkPlayer.ts";
import { PlayNetwork } from "#test/support/network/playNetwork.ts";

const trials = 30;
const rounds = 3;

/**
 * Returns the milliseconds that the relay adds to the input-to-photon latency if a player uses it over TCP,
 * compared with direct UDP: the difference of the medians, measured alternately in a network of namespaces.
 *
 * @throws If a connection does not use the path to be measured.
 */
export async function measureRelayedPhoton(): Promise<{
  addedMs: number;
  directMs: number;
  relayedMs: number;
}> {
  const playing = await PlayNetwork.start(["turn:3478?transport=tcp"]);
  const [direct, relayed]: [number[], number[]] = [[], []];
  try {
    for (let round = 0; round < rounds; round++) {
      direct.push(...(await photons(playing, "direct")));
      await playing.network.dropDirectMedia();
      relayed.push(...(await photons(playing, "relay")));
      await playing.network.restore();
    }
  } finally {
    await playing.stop();
  }
  return { addedMs: median(relayed) - median(direct), directMs: median(direct), relayedMs: median(relayed) };
}

async function photons(playing: PlayNetwork, way: "direct" | "relay"): Promise<number[]> {
  const browser = await playing.launchBrowser();
  try {
    const player = await NetworkPlayer.signIn(browser, playing, `photon by ${way}`);
    await player.play(playing);
    const local = (await player.path())?.local;
    if ((local === "relay") !== (way === "relay"))
      throw new Error(`The connection goes by ${local ?? "nothing"}, not by ${way}.`);
    const measured = await measureStreamPhoton(player.page, trials);
    await player.close(false);
    return measured;
  } finally {
    await browser.close();
    await playing.fixture.removePod();
  }
}
