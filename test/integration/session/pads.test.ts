import { expect } from "chai";
import { eventually } from "#test/support/clocks/eventually.ts";
import { compileProbe, compileShim } from "#test/support/session/compileC.ts";
import { PadsForTests } from "#test/support/session/padsForTests.ts";
import { supervisedLaunches } from "#test/support/session/supervisedLaunches.ts";

const device = "/sys/devices/platform/joypod/usb1/1-1/1-1:1.0/input/input0";
const [created, removed, ignored] = ["100", "200", "8000"];

describe("the gamepads of a supervised game", function () {
  this.timeout(60_000);
  const { launch } = supervisedLaunches();
  let shim: string;
  let probe: string;
  let pads: PadsForTests;

  before(async () => {
    [shim, probe] = await Promise.all([compileShim(), compileProbe("padProbe", "dynamic")]);
  });
  beforeEach(() => {
    pads = new PadsForTests();
  });
  afterEach(() => pads.close());

  const environment = () => ({ LD_PRELOAD: shim, JOYPOD_PADS: pads.directory });

  it("appear to inotify, libudev and listings, report presses and vibrate, and vanish", async () => {
    const game = await launch(`#!/bin/sh\nexec ${probe}\n`, { environment: environment() });
    const printed = (line: string) =>
      eventually(() => game.output().includes(line), { timeoutMs: 20_000, what: `“${line}”` });
    await printed("ready");
    pads.connect(0);
    await printed("pad Microsoft");
    pads.hold(0, 1_234, 0, "south");
    await printed("effect 0");
    await eventually(() => pads.rumbles.length > 0, { what: "the vibration" });
    pads.hold(0, 0, 0);
    await printed("event 304 0");
    pads.unplug(0);
    expect(await game.exit(), game.output()).to.equal(0);

    expect(pads.rumbles[0]).to.deep.equal([0, { strong: 40_000, weak: 20_000 }]);
    const usb = "joystick=1 vendor=045e";
    const lines = game
      .output()
      .split("\n")
      .map((line) => line.trimEnd());
    expect(lines).to.include.members([
      `inotify ${created} event0`,
      `inotify ${created} js0`,
      `monitored add none ${usb}`,
      `monitored add /dev/input/event0 ${usb}`,
      `monitored add /dev/input/js0 ${usb}`,
      `enumerated none none ${usb}`,
      `enumerated none /dev/input/event0 ${usb}`,
      `enumerated none /dev/input/js0 ${usb}`,
      "listed event0",
      "listed js0",
      "matched /dev/input/js0",
      "device 1 13:64",
      `at ${device}: Microsoft X-Box 360 pad`,
      "pad Microsoft X-Box 360 pad open=13:64 rumble=1",
      "state south=1 x=1234 of 32767",
      "joystick axes=8 buttons=11 initial=19",
      "spring EINVAL",
      "effect 0 played=1",
      "event 0 1234",
      "event 304 1",
      "event 0 0",
      "event 304 0",
      "end -1 ENODEV",
      "after it, write=24 ioctl=-1",
      `inotify ${removed} event0`,
      `inotify ${removed} js0`,
      `inotify ${ignored}`,
    ]);
  });

  it("are four devices, and are connected before a program that asks for it", async () => {
    pads.connect(2, 3);
    const umask = process.umask(0); // For the pads that the game asks for.
    const game = await launch(
      `#!/bin/sh
export JOYPOD_CONNECT_GAMEPADS=2
ls -l /dev/input
cat /sys/class/input/event3/device/phys
`,
      { environment: environment() },
    );
    expect(await game.exit(), game.output()).to.equal(0);
    process.umask(umask);
    for (const pad of [0, 1, 2, 3])
      for (const [node, minor] of [
        ["event", 64 + pad],
        ["js", pad],
      ] as const)
        expect(game.output()).to.match(new RegExp(`^c.* 13, +${minor} .* ${node}${pad}$`, "m"));
    expect(game.output()).to.include("usb-joypod-4/input0");
  });
});
