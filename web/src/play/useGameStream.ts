import { useEffect, useState } from "react";
import type { z } from "zod";
import type { HelloNotice, QualityNotice } from "#contracts/stream.ts";
import { readTabClientId } from "../stream/clientId.ts";
import { GameStream } from "../stream/gameStream.ts";
import type { StreamState } from "../stream/streamState.ts";

export type StreamHello = z.infer<typeof HelloNotice>;

/** The current quality, with the maximum that the session can be set to. */
export type HeldQuality = z.infer<typeof QualityNotice>;

export interface GameStreamView {
  stream: GameStream | undefined;
  state: StreamState;
  media: MediaStream | undefined;
  hello: StreamHello | undefined;
  /** Undefined until the streamer reports it. */
  quality: HeldQuality | undefined;
  /** Whether the game hides its pointer. */
  isPointerHidden: boolean;
}

/**
 * Returns a session's stream. It is prepared while its address is unknown, connected as soon as it is known,
 * and closed when the address or the component goes away. `onChange` is called for every change of state.
 */
export function useGameStream(
  streamUrl: string | undefined,
  onChange: (state: StreamState) => void,
): GameStreamView {
  const [stream, setStream] = useState<GameStream>();
  const [state, setState] = useState<StreamState>({ phase: "idle" });
  const [media, setMedia] = useState<MediaStream>();
  const [hello, setHello] = useState<StreamHello>();
  const [quality, setQuality] = useState<HeldQuality>();
  const [isPointerHidden, setIsPointerHidden] = useState(false);

  useEffect(() => {
    const created = new GameStream(readTabClientId());
    const stopListening = [
      created.on("state", (next) => {
        setState(next);
        onChange(next);
      }),
      created.on("media", setMedia),
      created.on("notice", (notice) => {
        if (notice.t === "hello") setHello(notice);
        if (notice.t === "quality") setQuality(notice);
        if (notice.t === "pointer") setIsPointerHidden(notice.hidden);
      }),
    ];
    created.prepare();
    setStream(created);
    return () => {
      for (const stop of stopListening) stop();
      created.close();
    };
  }, [onChange]);

  useEffect(() => {
    if (stream === undefined || streamUrl === undefined) return;
    const disconnect = (): void => stream.close();
    // A page from the browser's back-forward cache finds its connection closed.
    const reconnect = ({ persisted }: PageTransitionEvent): void => {
      if (persisted) stream.connect(streamUrl);
    };
    window.addEventListener("pagehide", disconnect);
    window.addEventListener("pageshow", reconnect);
    stream.connect(streamUrl);
    return () => {
      window.removeEventListener("pagehide", disconnect);
      window.removeEventListener("pageshow", reconnect);
      stream.close();
    };
  }, [stream, streamUrl]);

  return { stream, state, media, hello, quality, isPointerHidden };
}
