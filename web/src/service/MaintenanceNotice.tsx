import { useTranslation } from "react-i18next";
import { Icon } from "../components/Icon.tsx";
import { useMaintenance } from "./useServiceStatus.ts";

/** Shows the admin's message during maintenance, while no game can be started. */
export function MaintenanceNotice() {
  const { t } = useTranslation();
  const maintenance = useMaintenance();
  return (
    // Screen readers read out only changes in a region that existed before.
    <div role="status">
      {maintenance !== undefined && (
        <div className="maintenance">
          <Icon name="warning" />
          <p>
            <strong>{t("maintenance.title")}</strong> {maintenance.message ?? t("maintenance.text")}
          </p>
        </div>
      )}
    </div>
  );
}
