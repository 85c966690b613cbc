import type { Client, WindowEvent } from "x11";
import { isFromServer } from "./xConnection.ts";
import { type Atoms, type SetProperty, atomType, maxProtocols, parseWords, windowType } from "./atoms.ts";
import { wantsInput } from "./windowHints.ts";

const revertToParent = 2;
// Focus values of a display on which no window has the focus, besides the root window.
const none = 0;
const pointerRoot = 1;

export interface WindowFocusDeps {
  connection: {
    client: Pick<Client, "GetInputFocus" | "GetProperty" | "SendClientMessage" | "SetInputFocus">;
    root: number;
  };
  atoms: Pick<Atoms, "WM_HINTS" | "WM_PROTOCOLS" | "WM_TAKE_FOCUS">;
  setProperty: SetProperty;
  /** The window manager's check window, whose property events it receives. */
  check: number;
  isManaged: (window: number) => boolean;
}

/**
 * Assigns the keyboard focus (ICCCM 4.1.7). Only the newest decision counts: an older one that still waits
 * for a reply has no effect, nor has one for a window that was closed. It waits only for the server's
 * replies.
 */
export interface WindowFocus {
  /**
   * Focuses the window unless it focuses itself, and sends WM_TAKE_FOCUS to windows that support it, such as
   * those of Java and Wine.
   */
  give(window: number): void;
  /**
   * Focuses the topmost window if no window has the focus, for example after the focused window was closed.
   */
  restore(top: () => number | undefined): void;
  /** Records the server's time. Must receive every event, even beyond the event budget. */
  handleEvent(event: Pick<WindowEvent, "name" | "wid" | "time" | "rawData">): void;
}

export function createWindowFocus({
  connection: { client, root },
  atoms,
  setProperty,
  check,
  isManaged,
}: WindowFocusDeps): WindowFocus {
  let decisions = 0;
  let serverTime = 0;

  // Uses the server's time after SetInputFocus. The game sets the focus with that time, and the server
  // ignores a time earlier than the last focus change.
  const askToTakeFocus = (window: number, isCurrent: () => boolean) => {
    setProperty(check, "_NET_SUPPORTING_WM_CHECK", windowType, check); // Sets the same value: its event carries the time and precedes the reply.
    client.GetInputFocus(() => {
      if (isCurrent())
        client.SendClientMessage(
          window,
          window,
          atoms.WM_PROTOCOLS,
          32,
          [atoms.WM_TAKE_FOCUS, serverTime],
          0,
        );
    });
  };

  const give = (window: number) => {
    const decision = ++decisions;
    const isCurrent = () => decision === decisions && isManaged(window);
    let takesFocus = false;
    client.GetProperty(0, window, atoms.WM_PROTOCOLS, atomType, 0, maxProtocols, (error, property) => {
      takesFocus = !error && parseWords(property.data).includes(atoms.WM_TAKE_FOCUS);
    });
    client.GetProperty(0, window, atoms.WM_HINTS, atoms.WM_HINTS, 0, 2, (error, hints) => {
      if (error || !isCurrent()) return;
      if (!takesFocus || wantsInput(parseWords(hints.data))) client.SetInputFocus(window, revertToParent);
      setProperty(root, "_NET_ACTIVE_WINDOW", windowType, window);
      if (takesFocus) askToTakeFocus(window, isCurrent);
    });
  };

  return {
    give,
    restore: (top) => {
      const decision = decisions;
      client.GetInputFocus((error, reply) => {
        if (error || decision !== decisions || ![none, pointerRoot, root].includes(reply.focus)) return;
        const window = top();
        if (window !== undefined) give(window);
      });
    },
    handleEvent: (event) => {
      if (event.name === "PropertyNotify" && event.wid === check && isFromServer(event))
        serverTime = event.time ?? serverTime;
    },
  };
}
