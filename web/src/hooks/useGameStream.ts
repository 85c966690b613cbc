import { useEffect, useState } from "react";
import type { HelloNotice } from "#contracts/stream.ts";
import type { z } from "zod";
import { clientIdOfTab } from "../stream/clientId.ts";
import { GameStream } from "../stream/gameStream.ts";
import type { StreamState } from "../stream/streamState.ts";

export type StreamHello = z.infer<typeof HelloNotice>;

export interface GameStreamView {
  stream: GameStream | undefined;
  state: StreamState;
  media: MediaStream | undefined;
  hello: StreamHello | undefined;
}

/** The stream at `containerUrl`, connected while the component is there. `onChange` hears of every change of state. */
export function useGameStream(containerUrl: string, onChange: (state: StreamState) => void): GameStreamView {
  const [stream, setStream] = useState<GameStream>();
  const [state, setState] = useState<StreamState>({ phase: "idle" });
  const [media, setMedia] = useState<MediaStream>();
  const [hello, setHello] = useState<StreamHello>();

  useEffect(() => {
    const opened = new GameStream({ containerUrl, clientId: clientIdOfTab() });
    const stopListening = [
      opened.on("state", (next) => {
        setState(next);
        onChange(next);
      }),
      opened.on("media", setMedia),
      opened.on("notice", (notice) => {
        if (notice.t === "hello") setHello(notice);
      }),
    ];
    const hangUp = (): void => opened.close();
    // A page that comes back out of the browser's back-forward cache finds its connection closed.
    const comeBack = ({ persisted }: PageTransitionEvent): void => {
      if (persisted) opened.connect();
    };
    window.addEventListener("pagehide", hangUp);
    window.addEventListener("pageshow", comeBack);
    setStream(opened);
    opened.connect();
    return () => {
      window.removeEventListener("pagehide", hangUp);
      window.removeEventListener("pageshow", comeBack);
      for (const stop of stopListening) stop();
      opened.close();
    };
  }, [containerUrl, onChange]);

  return { stream, state, media, hello };
}
