import { Icon } from "../components/Icon.tsx";
import { useMaintenance } from "./useServiceStatus.ts";

/**
 * Says that no game can be started because an admin works on the service, in their own words; shows nothing
 * at any other time.
 */
export function MaintenanceNotice() {
  const maintenance = useMaintenance();
  return (
    // The region is there before its text, or screen readers would not read it out.
    <div role="status">
      {maintenance !== undefined && (
        <div className="maintenance">
          <Icon name="warning" />
          <p>
            <strong>Joypod is being worked on.</strong>{" "}
            {maintenance.message ?? "Games cannot be started just now. One that you are playing goes on."}
          </p>
        </div>
      )}
    </div>
  );
}
