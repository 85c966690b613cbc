import { sentenceFor } from "../client/apiError.ts";
import { LoadFailure, Spinner } from "../components/Notice.tsx";
import { QualityForm } from "../quality/QualityForm.tsx";
import { useKeepQuality, useQualityChoice } from "../quality/useQualityChoice.ts";

/** The quality that the player's games begin with. */
export function PictureQuality() {
  const choice = useQualityChoice();
  const keeping = useKeepQuality();
  return (
    <section aria-labelledby="quality-title">
      <h2 id="quality-title">Picture quality</h2>
      <p className="muted">Of the games that you start from now on. While you play, the game controls change it at once.</p>
      {choice.isPending && <Spinner label="Loading…" />}
      {choice.isError && <LoadFailure what="Your picture quality" error={choice.error} onRetry={() => void choice.refetch()} />}
      {choice.isSuccess && <QualityForm value={choice.data.quality} maximum={choice.data.maximum} onChange={(quality) => keeping.mutate(quality)} />}
      {keeping.isError && <p className="message message-problem" role="alert">{sentenceFor(keeping.error)}</p>}
      {keeping.isSuccess && <p className="message" role="status">Kept for your next game.</p>}
    </section>
  );
}
