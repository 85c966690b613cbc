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

/**
 * A session's stream: prepared while there is no address yet, connected as soon as there is one, closed when that is gone or
 * the component is. `onChange` hears of every change of state.
 */
export function useGameStream(streamUrl: string | undefined, onChange: (state: StreamState) => void): GameStreamView {
  const [stream, setStream] = useState<GameStream>();
  const [state, setState] = useState<StreamState>({ phase: "idle" });
  const [media, setMedia] = useState<MediaStream>();
  const [hello, setHello] = useState<StreamHello>();

  useEffect(() => {
    const made = new GameStream(clientIdOfTab());
    const stopListening = [
      made.on("state", (next) => {
        setState(next);
        onChange(next);
      }),
      made.on("media", setMedia),
      made.on("notice", (notice) => {
        if (notice.t === "hello") setHello(notice);
      }),
    ];
    made.prepare();
    setStream(made);
    return () => {
      for (const stop of stopListening) stop();
      made.close();
    };
  }, [onChange]);

  useEffect(() => {
    if (stream === undefined || streamUrl === undefined) return;
    const hangUp = (): void => stream.close();
    // A page that comes back out of the browser's back-forward cache finds its connection closed.
    const comeBack = ({ persisted }: PageTransitionEvent): void => {
      if (persisted) stream.connect(streamUrl);
    };
    window.addEventListener("pagehide", hangUp);
    window.addEventListener("pageshow", comeBack);
    stream.connect(streamUrl);
    return () => {
      window.removeEventListener("pagehide", hangUp);
      window.removeEventListener("pageshow", comeBack);
      stream.close();
    };
  }, [stream, streamUrl]);

  return { stream, state, media, hello };
}
