import { expect } from "chai";
import { podPaths, sessionUserId } from "#contracts/nodeLayout.ts";
import { soundSink } from "#streamer/sound/soundServer.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { compileProbe } from "#test/support/session/compileC.ts";
import { imageBuildMs, prepareSessionImages } from "#test/support/session/containers.ts";
import { startSessionPair, type SessionPair } from "#test/support/session/sessionPair.ts";

const mebibyte = 2 ** 20;
const machineId = "0123456789abcdef".repeat(2);
const listNames =
  "--session --print-reply=literal --dest=org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus.ListNames";
/** Prints one line `name: value` for each question of an engine. */
const script = `#!/bin/sh
tell() { echo "$1: $(eval "$2" 2>&1 | tr '\\n' ' ')"; }
tell home 'getent passwd "$(id -u)" | cut -d: -f6'
tell runtime 'stat -c "%a %u" "$XDG_RUNTIME_DIR"'
tell machine 'cat /etc/machine-id /var/lib/dbus/machine-id'
tell cluster 'env | grep -c -E "^(KUBERNETES_|HOSTNAME=|DEBIAN_FRONTEND=|SDL_AUDIODRIVER=)"'
tell german 'LC_ALL=de_DE.UTF-8 locale -k decimal_point thousands_sep'
for name in en_US fr_FR es_ES it_IT pt_BR pl_PL ru_RU tr_TR ja_JP ko_KR zh_CN zh_TW; do
  tell "locale $name" "LC_ALL=$name.UTF-8 locale charmap"
done
tell font 'fc-match --format "%{family[0]}"'
tell arial 'fc-match --format "%{family[0]}" Arial'
tell japanese 'fc-match --format "%{family[0]}" sans:lang=ja'
tell fontcache 'ls -A "$XDG_CACHE_HOME/fontconfig"'
tell buses 'grep -l -s -x dbus-daemon /proc/[0-9]*/comm | wc -l'
tell names 'dbus-send ${listNames}'
tell buses-then 'grep -l -s -x dbus-daemon /proc/[0-9]*/comm | wc -l'
tell shm 'df --block-size=1 --output=size /dev/shm | tail -n 1'
tell shm-fits 'fallocate -l 200M /dev/shm/large && stat -c %s /dev/shm/large'
tell shm-full 'LC_ALL=C fallocate -l 300M /dev/shm/large'
rm -f /dev/shm/large
tell junk 'ls -A "$HOME"'
echo "told: yes"
exec ./alsaTone
`;

describe("the game image", function () {
  this.timeout(60_000);
  let pair: SessionPair | undefined;
  let log: string;
  let told: ReadonlyMap<string, string>;

  before(async function () {
    this.timeout(imageBuildMs);
    const [images, tone] = await Promise.all([prepareSessionImages(), compileProbe("alsaTone", "dynamic")]);
    const started = await startSessionPair({
      images,
      game: { script, programs: [tone] },
      gameEnv: { JOYPOD_MACHINE_ID: machineId, KUBERNETES_SERVICE_HOST: "10.96.0.1" },
    });
    pair = started;
    log = await eventually(
      async () => {
        const output = await started.gameLogs();
        if (!/^(late|error)/m.test(output)) throw new Error(output);
        return output;
      },
      { timeoutMs: 60_000, what: "the end of the game's questions" },
    );
    const lines = [...log.matchAll(/^([a-zA-Z_ -]+): (.*?) *$/gm)];
    told = new Map(lines.map(([, name = "", value = ""]) => [name, value]));
  });
  after(() => pair?.remove());

  it("plays what programs send to ALSA's default device, a third of a second late at most", async () => {
    expect(log).to.match(/^device default$/m);
    const numberOf = (name: string) => Number(new RegExp(`^${name} (\\d+)$`, "m").exec(log)?.[1]);
    expect(numberOf("buffer"), log).to.be.within(50, 350);
    expect(numberOf("late"), log).to.be.within(1, 500);
    const recorded = await pair!.inStreamer(
      "sh",
      "-c",
      `PULSE_SERVER=unix:${podPaths.run}/pulse.sock timeout 20 parec --device=${soundSink}.monitor --format=s16le --channels=1 | head -c 48000 | base64 -w0`,
    );
    const samples = Buffer.from(recorded, "base64");
    const peaks = Array.from({ length: samples.length / 2 }, (_, index) => samples.readInt16LE(2 * index));
    expect(Math.max(...peaks)).to.be.within(4_000, 20_000);
  });

  it("plays also what programs send to the first sound card by name", () => {
    for (const name of ["hw:0", "hw:0,0", "plughw:0,0", "sysdefault", "front", "dmix", "mixer hw:0"])
      expect(log).to.match(new RegExp(`^opened ${name}$`, "m"));
  });

  it("has the save folder as the home of its user, and keeps it clean", () => {
    expect(told.get("home")).to.equal(podPaths.saves);
    expect(told.get("junk")).to.equal("");
  });

  it("has a private runtime folder, the player's machine id and no variables of the cluster", () => {
    expect(told.get("runtime")).to.equal(`700 ${sessionUserId}`);
    expect(told.get("machine")).to.equal(`${machineId} ${machineId}`);
    expect(told.get("cluster")).to.equal("0");
  });

  it("has the locales of common languages", () => {
    expect(told.get("german")).to.equal('decimal_point="," thousands_sep="."');
    const others = [...told].filter(([name]) => name.startsWith("locale "));
    expect(others).to.have.lengthOf(12);
    for (const [name, charmap] of others) expect(charmap, name).to.equal("UTF-8");
  });

  it("has fonts that are found without a search", () => {
    expect(told.get("font")).to.equal("DejaVu Sans");
    expect(told.get("arial")).to.equal("Liberation Sans");
    expect(told.get("japanese")).to.equal("Droid Sans Fallback");
    expect(told.get("fontcache"), "caches that fontconfig wrote, because the image's are stale").to.match(
      /^(CACHEDIR.TAG)?$|No such file/,
    );
  });

  it("starts a D-Bus session with the first connection", () => {
    expect(told.get("buses")).to.equal("0");
    expect(told.get("names")).to.match(/org[.]freedesktop[.]DBus/);
    expect(told.get("buses-then")).to.equal("1");
  });

  it("has shared memory of its own, whose end is an error", () => {
    expect(told.get("shm")).to.equal(String(256 * mebibyte));
    expect(told.get("shm-fits")).to.equal(String(200 * mebibyte));
    expect(told.get("shm-full")).to.match(/No space left on device/);
  });

  it("reports the status of a stopped game, also beside a running D-Bus session", async () => {
    await pair!.signalGame("TERM");
    expect(await pair!.gameExit()).to.equal(0);
    expect(await pair!.gameMessage()).to.include({ reason: "stopped", endedBy: "sigterm", exitCode: 143 });
  });
});
