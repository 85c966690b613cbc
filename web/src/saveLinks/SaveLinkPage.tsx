import { useState } from "react";
import { Trans, useTranslation } from "react-i18next";
import { Link } from "react-router";
import { useMutation, useQuery } from "@tanstack/react-query";
import type { ReceivedSave, SharedSave } from "#contracts/http/saveLinks.ts";
import { GameArt } from "../catalog/GameArt.tsx";
import { describeError, isApiError } from "../client/apiError.ts";
import { readSaveLink, receiveSave } from "../client/saveLinks.ts";
import { ActionButton } from "../components/ActionButton.tsx";
import { formatDuration, formatMoment } from "../components/format.ts";
import { LoadFailure, Notice, Spinner } from "../components/Notice.tsx";
import { useTitle } from "../components/useTitle.ts";
import { LaunchConflict, LaunchFailure } from "../launch/LaunchProblems.tsx";
import { useLaunch } from "../launch/useLaunch.ts";
import { findLinkToken, forgetLinkToken } from "./linkToken.ts";

/** What a link from another player offers, and its copy once it was received. */
export default function SaveLinkPage() {
  const { t } = useTranslation("saveLinks");
  useTitle(t("title"));
  const [token] = useState(findLinkToken);
  const [received, setReceived] = useState<ReceivedSave>();
  const { data, error, refetch } = useQuery({
    queryKey: ["saveLink", token],
    queryFn: ({ signal }) => readSaveLink(token ?? "", signal),
    enabled: token !== undefined && received === undefined,
    refetchOnWindowFocus: false,
  });
  if (received !== undefined) return <Received received={received} title={data?.game.title} />;
  if (token === undefined || isUnusable(error)) return <NoOffer />;
  if (data !== undefined) return <Offer token={token} offer={data} onReceived={setReceived} />;
  if (error !== null)
    return <LoadFailure title={t("loadFailed")} error={error} onRetry={() => void refetch()} />;
  return <Spinner label={t("loading")} />;
}

/** A token that was cut off is invalid. */
function isUnusable(error: unknown): boolean {
  return isApiError(error, "not_found") || isApiError(error, "invalid_request");
}

function NoOffer() {
  const { t } = useTranslation(["saveLinks", "common"]);
  return (
    <Notice
      isPage
      title={t("gone.title")}
      actions={
        <Link className="button" to="/">
          {t("common:allGames")}
        </Link>
      }
    >
      <p>{t("gone.text")}</p>
    </Notice>
  );
}

interface OfferProps {
  token: string;
  offer: SharedSave;
  onReceived: (received: ReceivedSave) => void;
}

/** The sender's name comes first, because it is the only sign of whom the save comes from. */
function Offer({ token, offer, onReceived }: OfferProps) {
  const { t } = useTranslation("saveLinks");
  const { sender, game, isOwn, savedAt, playSeconds, picture } = offer;
  const receiving = useMutation({
    mutationFn: () => receiveSave(token),
    onSuccess: (received) => {
      forgetLinkToken();
      onReceived(received);
    },
  });
  return (
    <article className="offer">
      <h1>
        <Trans
          t={t}
          i18nKey="offer.title"
          values={{ name: sender.name === "" ? t("offer.nameless") : sender.name, game: game.title }}
          components={{ strong: <strong className="offer-sender" /> }}
        />
      </h1>
      <div className="offer-art">
        {picture === undefined ? (
          <GameArt slug={game.slug} title={game.title} thumbnail={game.thumbnail} isEager />
        ) : (
          <img className="art" src={picture} alt={t("offer.picture", { time: formatMoment(savedAt) })} />
        )}
      </div>
      <p>
        <strong>{game.title}</strong>, {formatMoment(savedAt)}
        {playSeconds >= 60 && `, ${t("offer.played", { duration: formatDuration(playSeconds) })}`}
      </p>
      <p className="muted">{isOwn ? t("offer.own") : t("offer.text")}</p>
      {!isOwn && (
        <div className="actions">
          <ActionButton
            className="button button-primary"
            isBusy={receiving.isPending}
            onClick={() => receiving.mutate()}
          >
            {receiving.isPending ? t("offer.receiving") : t("offer.receive")}
          </ActionButton>
          <Link className="button" to={`/games/${game.slug}`}>
            {t("toGame")}
          </Link>
        </div>
      )}
      {receiving.error !== null && (
        <p className="message message-problem" role="alert">
          {isUnusable(receiving.error) ? t("gone.text") : describeError(receiving.error)}
        </p>
      )}
    </article>
  );
}

function Received({
  received: { gameSlug, slot },
  title,
}: {
  received: ReceivedSave;
  title: string | undefined;
}) {
  const { t } = useTranslation(["saveLinks", "common"]);
  const launch = useLaunch();
  const { id, slotNumber } = slot;
  return (
    <>
      <Notice
        isPage
        title={t("received.title")}
        actions={
          <>
            {id !== null && (
              <ActionButton
                className="button button-primary"
                isBusy={launch.isLaunching}
                onClick={() => launch.start({ gameSlug, saveSlotId: id })}
              >
                {launch.isLaunching ? t("common:launching") : t("received.play")}
              </ActionButton>
            )}
            <Link className="button" to={`/games/${gameSlug}`}>
              {t("toGame")}
            </Link>
          </>
        }
      >
        <p>{t("received.text", { number: slotNumber, game: title ?? gameSlug })}</p>
        {launch.error !== null && <LaunchFailure error={launch.error} />}
      </Notice>
      <LaunchConflict launch={launch} />
    </>
  );
}
