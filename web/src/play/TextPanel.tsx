import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import type { StreamInput } from "#contracts/stream.ts";
import { canReadClipboard, messagesFor, readClipboard, tapsFor } from "../stream/typedText.ts";

interface TextPanelProps {
  send: (message: StreamInput) => void;
  onClose: () => void;
}

/**
 * A field whose text goes to the game as it is typed or pasted: input methods, emoji pickers, on-screen
 * keyboards and the clipboard need a field. Keys that change nothing in the empty field go to the game too.
 * Escape closes the panel.
 */
export function TextPanel({ send, onClose }: TextPanelProps) {
  const { t } = useTranslation("play");
  const field = useRef<HTMLTextAreaElement>(null);
  const [hasFailed, setHasFailed] = useState(false);
  useEffect(() => field.current?.focus(), []);
  const type = (text: string): void => {
    for (const message of messagesFor(text)) send(message);
  };
  const takeText = (): void => {
    const { current } = field;
    if (current === null) return;
    type(current.value);
    current.value = "";
  };
  const paste = (): void => {
    readClipboard().then(type, () => setHasFailed(true));
    field.current?.focus();
  };
  return (
    <div
      className="controls-panel text-panel"
      role="group"
      tabIndex={-1} // A click beside the field leaves the focus in the panel.
      aria-label={t("controls.typeText")}
      onKeyDown={(event) => {
        if (event.nativeEvent.isComposing) return;
        event.stopPropagation();
        if (event.key === "Escape") onClose();
      }}
    >
      <label>
        {t("text.label")}
        <textarea
          ref={field}
          rows={2}
          spellCheck={false}
          autoComplete="off"
          data-testid="game-text"
          onInput={({ nativeEvent }) => {
            // The text of an input method counts once it is complete.
            if (!(nativeEvent instanceof InputEvent && nativeEvent.isComposing)) takeText();
          }}
          onCompositionEnd={takeText}
          onKeyDown={(event) => {
            const taps = event.nativeEvent.isComposing ? [] : tapsFor(event.nativeEvent);
            if (taps.length > 0) event.preventDefault();
            for (const message of taps) send(message);
          }}
        />
      </label>
      {canReadClipboard() && (
        <button type="button" className="button" onClick={paste}>
          {t("text.paste")}
        </button>
      )}
      {hasFailed && <p role="alert">{t("text.pasteFailed")}</p>}
    </div>
  );
}
