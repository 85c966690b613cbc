import type { KeptQuality } from "#contracts/http/streamQuality.ts";
import { sentenceFor } from "../client/apiError.ts";
import { ReadState } from "../components/ReadState.tsx";
import { useAnnouncement } from "../components/useAnnouncement.tsx";
import { QualityForm } from "../quality/QualityForm.tsx";
import { useKeepQuality, useQualityChoice } from "../quality/useQualityChoice.ts";

/** The quality that the player's games begin with. */
export function PictureQuality() {
  const choice = useQualityChoice();
  const keeping = useKeepQuality();
  const [announcement, announce] = useAnnouncement();
  const keep = (quality: KeptQuality): void => {
    announce("");
    keeping.mutate(quality, { onSuccess: () => announce("Kept for your next game.") });
  };
  return (
    <section aria-labelledby="quality-title">
      <h2 id="quality-title">Picture quality</h2>
      <p className="muted">
        Of the games that you start from now on. While you play, the game controls change it at once.
      </p>
      <ReadState query={choice} what="Your picture quality" />
      {choice.data !== undefined && (
        <QualityForm value={choice.data.quality} maximum={choice.data.maximum} onChange={keep} />
      )}
      {keeping.isError && (
        <p className="message message-problem" role="alert">
          {sentenceFor(keeping.error)}
        </p>
      )}
      {announcement}
    </section>
  );
}
