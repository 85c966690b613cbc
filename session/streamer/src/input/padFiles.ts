import { closeSync, mkdirSync, openSync, rmSync, symlinkSync, writeFileSync, writeSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { axisCodes, encodeState, keyCodes, type GamepadState } from "./gamepad.ts";

/** The kernel's device numbers for input devices. */
const inputMajor = 13;
const firstEventMinor = 64;
const name = "Microsoft X-Box 360 pad";
/** Event types: synchronization, keys, absolute axes, force feedback. */
const eventTypes = [0, 1, 3, 0x15];
/** FF_RUMBLE, FF_PERIODIC, FF_SQUARE, FF_TRIANGLE, FF_SINE, FF_GAIN. */
const effectTypes = [0x50, 0x51, 0x58, 0x59, 0x5a, 0x60];

type Properties = Readonly<Record<string, string>>;

/** What udev's rules find out about a pad. */
const commonProperties: Properties = {
  ID_INPUT: "1",
  ID_INPUT_JOYSTICK: "1",
  ID_BUS: "usb",
  ID_VENDOR: "Microsoft",
  ID_VENDOR_ID: "045e",
  ID_MODEL: "X-Box_360_pad",
  ID_MODEL_ID: "028e",
  ID_REVISION: "0114",
  ID_TYPE: "generic",
  ID_USB_DRIVER: "xpad",
};

/** A device of a pad: its folder in /sys, and what udev knows about it. */
export interface PadDevice {
  /** Path below /sys, such as `/devices/…/input0/event0`. */
  path: string;
  /** File name in /dev/input; undefined for the parent of the two nodes. */
  node: string | undefined;
  properties: Properties;
}

/** Returns the devices of a pad in the order in which they appear. */
export function listPadDevices(pad: number): PadDevice[] {
  const { input } = pathsOf(pad);
  const serial = serialOf(pad);
  const describe = (path: string, node: string | undefined, minor: number): PadDevice => ({
    path,
    node,
    properties: {
      DEVPATH: path,
      SUBSYSTEM: "input",
      ...(node === undefined
        ? { PRODUCT: "3/45e/28e/114", NAME: `"${name}"` }
        : { MAJOR: String(inputMajor), MINOR: String(minor), DEVNAME: `/dev/input/${node}` }),
      ...commonProperties,
      ID_SERIAL: `Microsoft_X-Box_360_pad_${serial}`,
      ID_SERIAL_SHORT: serial,
      ID_PATH: `platform-joypod-usb-0:${pad + 1}:1.0`,
    },
  });
  return [
    describe(input, undefined, 0),
    describe(`${input}/event${pad}`, `event${pad}`, firstEventMinor + pad),
    describe(`${input}/js${pad}`, `js${pad}`, pad),
  ];
}

const serialOf = (pad: number) => `joypod-pad-${pad}`;

function pathsOf(pad: number) {
  const usb = `/devices/platform/joypod/usb1/1-${pad + 1}`;
  const usbInterface = `${usb}/1-${pad + 1}:1.0`;
  return { usb, usbInterface, input: `${usbInterface}/input/input${pad}` };
}

/** Returns bits in the format of a sysfs file: hexadecimal words of 64 bits, the highest first. */
export function formatBits(codes: readonly number[]): string {
  const highest = Math.max(0, ...codes);
  const words = Array.from({ length: Math.floor(highest / 64) + 1 }, () => 0n);
  for (const code of codes) {
    const word = Math.floor(code / 64);
    words[word] = (words[word] ?? 0n) | (1n << BigInt(code % 64));
  }
  return words
    .toReversed()
    .map((word) => word.toString(16))
    .join(" ");
}

/**
 * The folder in which the game's programs find the pads: the files and links that a kernel and udev would
 * provide in /dev, /sys and /run, at the same paths below it. The shim redirects the programs to it.
 */
export class PadFiles {
  readonly #directory: string;
  /** Open files of the pads' states. */
  readonly #states = new Map<number, number>();

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Creates the folders, without pads. What an earlier streamer left behind must be removed before. */
  create(): void {
    for (const folder of ["dev/input", "sys/class/input", "sys/dev/char", "run/udev/data"])
      mkdirSync(join(this.#directory, folder), { recursive: true });
    // Programs look for it to find out whether udev runs.
    this.#write("run/udev/control", "");
  }

  /** Returns the path of a device node's socket. */
  nodePath(node: string): string {
    return join(this.#directory, "dev/input", node);
  }

  /** Returns the path of another of the streamer's sockets. */
  socketPath(name: string): string {
    return join(this.#directory, name);
  }

  add(pad: number): void {
    const { usb, usbInterface } = pathsOf(pad);
    this.#addUsbDevice(pad, usb);
    this.#addUsbInterface(usbInterface);
    for (const device of listPadDevices(pad)) {
      if (device.node === undefined) this.#addInput(pad, device.path, usbInterface);
      else this.#addNode(device);
      this.#link(`sys/class/input/${lastPart(device.path)}`, `sys${device.path}`);
      this.#write(`run/udev/data/${databaseName(device)}`, databaseEntry(device));
    }
  }

  remove(pad: number): void {
    for (const device of listPadDevices(pad).toReversed()) {
      this.#remove(`run/udev/data/${databaseName(device)}`);
      this.#remove(`sys/class/input/${lastPart(device.path)}`);
      if (device.node !== undefined) this.#remove(`sys/dev/char/${deviceNumber(device)}`);
    }
    this.#remove(`sys${pathsOf(pad).usb}`);
    this.#remove(`state${pad}`);
    const state = this.#states.get(pad);
    if (state !== undefined) closeSync(state);
    this.#states.delete(pad);
  }

  /** Keeps a pad's state for programs that ask for it. */
  writeState(pad: number, state: GamepadState): void {
    const file = this.#states.get(pad) ?? openSync(join(this.#directory, `state${pad}`), "w");
    this.#states.set(pad, file);
    writeSync(file, encodeState(state), 0, undefined, 0);
  }

  #addUsbDevice(pad: number, path: string): void {
    this.#writeAll(path, {
      uevent: "DEVTYPE=usb_device\nDRIVER=usb\nPRODUCT=45e/28e/114\nTYPE=255/255/255\nBUSNUM=001\n",
      idVendor: "045e\n",
      idProduct: "028e\n",
      bcdDevice: "0114\n",
      manufacturer: "Microsoft\n",
      product: "X-Box 360 pad\n",
      serial: `${serialOf(pad)}\n`,
      busnum: "1\n",
      devnum: `${pad + 2}\n`,
    });
    this.#link(`sys${path}/subsystem`, "sys/bus/usb");
    this.#link(`sys${path}/driver`, "sys/bus/usb/drivers/usb");
  }

  #addUsbInterface(path: string): void {
    this.#writeAll(path, {
      uevent: "DEVTYPE=usb_interface\nDRIVER=xpad\nPRODUCT=45e/28e/114\nINTERFACE=255/93/1\n",
      bInterfaceNumber: "00\n",
      bInterfaceClass: "ff\n",
    });
    this.#link(`sys${path}/subsystem`, "sys/bus/usb");
    this.#link(`sys${path}/driver`, "sys/bus/usb/drivers/xpad");
  }

  #addInput(pad: number, path: string, parent: string): void {
    const bits = {
      ev: formatBits(eventTypes),
      key: formatBits(keyCodes),
      abs: formatBits(axisCodes),
      ff: formatBits(effectTypes),
    };
    const phys = `usb-joypod-${pad + 1}/input0`;
    const capabilities = { ...bits, rel: "0", msc: "0", led: "0", snd: "0", sw: "0" };
    const uevent =
      `PRODUCT=3/45e/28e/114\nNAME="${name}"\nPHYS="${phys}"\nUNIQ="${serialOf(pad)}"\n` +
      `PROP=0\nEV=${bits.ev}\nKEY=${bits.key}\nABS=${bits.abs}\nFF=${bits.ff}\n`;
    this.#writeAll(path, {
      uevent,
      name: `${name}\n`,
      phys: `${phys}\n`,
      uniq: `${serialOf(pad)}\n`,
      properties: "0\n",
    });
    this.#writeAll(`${path}/id`, {
      bustype: "0003\n",
      vendor: "045e\n",
      product: "028e\n",
      version: "0114\n",
    });
    this.#writeAll(
      `${path}/capabilities`,
      Object.fromEntries(Object.entries(capabilities).map(([type, text]) => [type, `${text}\n`])),
    );
    this.#link(`sys${path}/subsystem`, "sys/class/input");
    this.#link(`sys${path}/device`, `sys${parent}`);
  }

  #addNode(device: PadDevice): void {
    const { MAJOR, MINOR } = device.properties;
    this.#writeAll(device.path, {
      uevent: `MAJOR=${MAJOR}\nMINOR=${MINOR}\nDEVNAME=input/${device.node}\n`,
      dev: `${deviceNumber(device)}\n`,
    });
    this.#link(`sys${device.path}/subsystem`, "sys/class/input");
    this.#link(`sys${device.path}/device`, `sys${dirname(device.path)}`);
    this.#link(`sys/dev/char/${deviceNumber(device)}`, `sys${device.path}`);
  }

  #writeAll(path: string, files: Readonly<Record<string, string>>): void {
    mkdirSync(join(this.#directory, "sys", path), { recursive: true });
    for (const [file, text] of Object.entries(files)) this.#write(`sys${path}/${file}`, text);
  }

  #write(path: string, text: string): void {
    writeFileSync(join(this.#directory, path), text);
  }

  /** Links are relative, as in sysfs, so that they work below the folder. */
  #link(path: string, target: string): void {
    this.#remove(path);
    symlinkSync(relative(dirname(path), target), join(this.#directory, path));
  }

  #remove(path: string): void {
    rmSync(join(this.#directory, path), { recursive: true, force: true });
  }
}

const lastPart = (path: string) => path.slice(path.lastIndexOf("/") + 1);
const deviceNumber = ({ properties }: PadDevice) => `${properties["MAJOR"]}:${properties["MINOR"]}`;
const databaseName = (device: PadDevice) =>
  device.node === undefined ? `+input:${lastPart(device.path)}` : `c${deviceNumber(device)}`;

/** Returns the text of a device's file in udev's database. */
function databaseEntry({ properties }: PadDevice): string {
  const found = Object.entries(properties).filter(([key]) => key.startsWith("ID_"));
  return [
    "I:1",
    ...found.map(([key, value]) => `E:${key}=${value}`),
    "G:seat",
    "G:uaccess",
    "Q:seat",
    "Q:uaccess",
    "V:1",
    "",
  ].join("\n");
}
