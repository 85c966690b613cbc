import type { Client, WindowEvent } from "x11";
import {
  type Atoms,
  atomType,
  parseWords,
  windowType,
  type SetProperty,
  isFromServer,
} from "./xConnection.ts";

const revertToParent = 2;
// What has the focus when no window has it, beside the root window.
const none = 0;
const pointerRoot = 1;
/** In the flags of WM_HINTS: they say about input. */
const inputHint = 1;
/** Protocols of a window that are read; toolkits name three or four. */
const maxProtocols = 64;

export interface WindowFocusDeps {
  connection: {
    client: Pick<Client, "GetInputFocus" | "GetProperty" | "SendClientMessage" | "SetInputFocus">;
    root: number;
  };
  atoms: Pick<Atoms, "WM_HINTS" | "WM_PROTOCOLS" | "WM_TAKE_FOCUS">;
  setProperty: SetProperty;
  /** The window manager's own window, of whose properties it hears. */
  check: number;
  isManaged: (window: number) => boolean;
}

/**
 * Passes the keyboard on to windows, by ICCCM 4.1.7. The newest decision counts: what an earlier one still
 * waits for comes to nothing, and so does one for a window that is closed meanwhile. It waits for nothing but
 * the server's replies.
 */
export interface WindowFocus {
  /**
   * Focuses the window, except where it wants to do so itself, and asks it to take the focus where it can be
   * asked, as those of Java and Wine can.
   */
  give(window: number): void;
  /**
   * Passes the keyboard to the window on top if no window has it any more, as after the end of the one that
   * had it.
   */
  restore(top: () => number | undefined): void;
  /** Notes the server's time. It is to get every event, whatever the budget. */
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

  // The time is the server's, after SetInputFocus: the game sets the focus by it in turn, which the server
  // ignores with an earlier one.
  const askToTakeFocus = (window: number, isCurrent: () => boolean) => {
    setProperty(check, "_NET_SUPPORTING_WM_CHECK", windowType, check); // As it was: the event of this tells the time, and comes before the reply.
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
      if (!takesFocus || wantsInput(hints.data)) client.SetInputFocus(window, revertToParent);
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

/**
 * Returns whether the window manager is to focus the window, as WM_HINTS say; without a word about it, it is.
 */
function wantsInput(hints: Buffer): boolean {
  const [flags = 0, input = 1] = parseWords(hints);
  return (flags & inputHint) === 0 || input !== 0;
}
