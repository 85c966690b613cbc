import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { SaveVersion } from "#contracts/http/saves.ts";
import { savePicturePath, type SlotAddress } from "../client/saves.ts";
import { formatMoment } from "../components/format.ts";

/** What the game showed when a version was stored; nothing if there is no picture of it. */
export function SavePicture({ slot, version }: { slot: SlotAddress; version: SaveVersion }) {
  const { t } = useTranslation("saves");
  const [failed, setFailed] = useState("");
  const { pictureId, savedAt } = version;
  if (pictureId === undefined || failed === pictureId) return null;
  return (
    <img
      className="save-picture"
      src={savePicturePath(slot, pictureId)}
      alt={t("picture", { time: formatMoment(savedAt) })}
      width={320}
      height={180}
      loading="lazy"
      decoding="async"
      onError={() => setFailed(pictureId)}
    />
  );
}
