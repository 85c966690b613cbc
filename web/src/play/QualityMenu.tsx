import { useEffect, useRef, useState } from "react";
import type { KeptQuality } from "#contracts/http/streamQuality.ts";
import { QualityForm } from "../quality/QualityForm.tsx";
import { nextSizeLine, qualityLine } from "../quality/qualityText.ts";
import { useKeepQuality, useQualityChoice } from "../quality/useQualityChoice.ts";
import type { HeldQuality } from "./useGameStream.ts";

/**
 * Changes the quality of the stream that is played, and keeps the choice for the next game. Escape closes it.
 */
export function QualityMenu({
  held,
  onWish,
  onClose,
}: {
  held: HeldQuality;
  onWish: (quality: KeptQuality) => void;
  onClose: () => void;
}) {
  const menu = useRef<HTMLDivElement>(null);
  const choice = useQualityChoice();
  const keeping = useKeepQuality();
  useEffect(() => {
    menu.current?.querySelector<HTMLInputElement>("input:checked")?.focus();
  }, []);
  const [wished, setWished] = useState<KeptQuality>();
  const kept = choice.data?.quality ?? {};
  // This session may have been launched with another one than is kept.
  const value = wished ?? ((kept.preset ?? "auto") === held.preset ? kept : { preset: held.preset });
  const nextSize = choice.data && nextSizeLine(value, held.maximum, choice.data.maximum);
  return (
    <div
      ref={menu}
      className="controls-panel"
      role="group"
      tabIndex={-1} // So that a click between the choices leaves the focus in the menu.
      aria-label="Quality of the picture"
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        onClose();
      }}
    >
      <QualityForm
        value={value}
        maximum={held.maximum}
        onChange={(quality) => {
          setWished(quality);
          onWish(quality);
          keeping.mutate(quality);
        }}
      />
      <p className="quality-now" role="status" data-testid="quality-now">
        {qualityLine(held)}
        {nextSize !== undefined && (
          <>
            <br />
            {nextSize}
          </>
        )}
      </p>
      {keeping.isError && <p role="alert">This could not be kept for your next game.</p>}
    </div>
  );
}
