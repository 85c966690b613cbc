import { type XConnection, promised } from "./xConnection.ts";
import {
  type Atoms,
  type SetProperty,
  atomType,
  cardinalType,
  supportedHints,
  windowStates,
  windowType,
} from "./atoms.ts";

// Numbers of the X11 protocol.
const replaceProperty = 0;
const structureNotifyMask = 0x20000;
const substructureNotifyMask = 0x80000;
const substructureRedirectMask = 0x100000;
const propertyChangeMask = 0x400000;
const inputOnly = 2;
const arrowGlyph = 68;

/**
 * Registers as the window manager: announces hints, redirects requests, and replaces the server's cross
 * pointer with an arrow. Returns the check window, which proves that a window manager is running.
 */
export async function announceManager(
  { client, root }: XConnection,
  atoms: Atoms,
  setProperty: SetProperty,
): Promise<number> {
  const check = client.AllocID();
  client.CreateWindow(check, root, -1, -1, 1, 1, 0, 0, inputOnly, 0, {
    overrideRedirect: true,
    eventMask: propertyChangeMask,
  });
  for (const window of [root, check]) setProperty(window, "_NET_SUPPORTING_WM_CHECK", windowType, check);
  client.ChangeProperty(
    replaceProperty,
    check,
    atoms._NET_WM_NAME,
    atoms.UTF8_STRING,
    8,
    Buffer.from("joypod"),
  );
  client.SetSelectionOwner(check, atoms.WM_S0); // ICCCM 2.8: some programs look for the owner.
  setProperty(root, "_NET_SUPPORTED", atomType, ...supportedHints.map((name) => atoms[name]));
  setProperty(root, "_NET_NUMBER_OF_DESKTOPS", cardinalType, 1);
  setProperty(root, "_NET_CURRENT_DESKTOP", cardinalType, 0);
  setProperty(root, "_NET_DESKTOP_VIEWPORT", cardinalType, 0, 0);
  setArrowPointer({ client, root });
  client.ChangeWindowAttributes(root, {
    eventMask: structureNotifyMask | substructureRedirectMask | substructureNotifyMask,
  });
  await promised<number>((done) => client.InternAtom(true, "WM_STATE", done)); // Its reply means that the server has processed all of the above.
  return check;
}

function setArrowPointer({ client, root }: Pick<XConnection, "client" | "root">): void {
  const font = client.AllocID();
  const cursor = client.AllocID();
  client.OpenFont(font, "cursor");
  client.CreateGlyphCursor(
    cursor,
    font,
    font,
    arrowGlyph,
    arrowGlyph + 1,
    { R: 0, G: 0, B: 0 },
    { R: 65_535, G: 65_535, B: 65_535 },
  );
  client.ChangeWindowAttributes(root, { cursor });
}

/** Publishes the display's size in the properties that programs read instead of asking the server. */
export function publishSize(
  { root, size: { width, height } }: Pick<XConnection, "root" | "size">,
  setProperty: SetProperty,
): void {
  setProperty(root, "_NET_WORKAREA", cardinalType, 0, 0, width, height);
  setProperty(root, "_NET_DESKTOP_GEOMETRY", cardinalType, width, height);
}

const [removeState, addState] = [0, 1];

/** Returns a window's states after a _NET_WM_STATE message. Unknown states and actions change nothing. */
export function applyStateMessage(
  states: ReadonlySet<number>,
  [action = -1, ...requested]: readonly number[],
  atoms: Atoms,
): Set<number> {
  const changed = new Set(states);
  for (const state of knownStates(requested.slice(0, 2), atoms)) {
    const isAdded = action === addState || (action !== removeState && !changed.has(state));
    if (isAdded) changed.add(state);
    else changed.delete(state);
  }
  return changed;
}

/** Returns those states that the window manager knows. */
export function knownStates(states: readonly number[], atoms: Atoms): number[] {
  return states.filter((state) => windowStates.some((name) => atoms[name] === state));
}
