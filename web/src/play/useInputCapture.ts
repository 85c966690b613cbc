import { useEffect, type RefObject } from "react";
import type { GameStream } from "../stream/gameStream.ts";
import { captureInput } from "../stream/inputCapture.ts";
import type { Size } from "../stream/pictureArea.ts";

interface InputCaptureParts {
  surface: RefObject<HTMLElement | null>;
  video: RefObject<HTMLVideoElement | null>;
  stream: GameStream | undefined;
  display: RefObject<Size | undefined>;
  onMenu: () => void;
}

/**
 * Takes the player's input while the game is in play, also between two connections: the stream drops it then,
 * but no key acts on the page, and what is held is known to the next connection.
 */
export function useInputCapture(
  isInPlay: boolean,
  { surface, video, stream, display, onMenu }: InputCaptureParts,
): void {
  useEffect(() => {
    if (!isInPlay || stream === undefined || surface.current === null || video.current === null) return;
    const input = captureInput({
      surface: surface.current,
      video: video.current,
      send: (message) => stream.send(message),
      display: () => display.current,
      onMenu,
    });
    const stopListening = stream.on("notice", ({ t }) => {
      // The streamer has released everything: over a silence, or with the connection before the one that says
      // hello.
      if (t === "released" || t === "hello") input.pressAgain();
    });
    return () => {
      stopListening();
      input.stop();
    };
  }, [isInPlay, surface, video, stream, display, onMenu]);
}
