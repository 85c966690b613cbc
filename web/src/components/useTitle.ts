import { useEffect } from "react";
import { useTranslation } from "react-i18next";

/** Sets the title of the window; without one, the name of the site. */
export function useTitle(title: string | undefined): void {
  const { t } = useTranslation();
  useEffect(() => {
    document.title = title === undefined ? t("brand") : t("tabTitle", { title });
  }, [t, title]);
}
