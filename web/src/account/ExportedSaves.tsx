import { useTranslation } from "react-i18next";
import type { AccountExport } from "#contracts/http/account.ts";

/** Links to the current saves of all slots, which the exported file only lists. Empty without saves. */
export function ExportedSaves({ saves }: { saves: AccountExport["saves"] }) {
  const { t } = useTranslation("account");
  const stored = saves.flatMap(({ download, ...save }) =>
    download === null ? [] : [{ ...save, path: new URL(download).pathname }],
  );
  if (stored.length === 0) return null;
  return (
    <>
      <p id="exported-saves">{t("data.saves")}</p>
      <ul className="exported-saves" aria-labelledby="exported-saves">
        {stored.map(({ path, game, slotNumber, label }) => (
          <li key={path}>
            <a href={path} download>
              {t("data.save", { game, slot: slotNumber, label })}
            </a>
          </li>
        ))}
      </ul>
    </>
  );
}
