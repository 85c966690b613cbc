import { fieldManagers } from "#contracts/crd/names.ts";
import {
  maintenanceConfigMap,
  maintenanceData,
  readMaintenance,
  type Maintenance,
} from "#contracts/maintenance.ts";
import { configMaps } from "#kube/api/builtin.ts";
import { isNotFound } from "#kube/api/errors.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import type { Installation } from "./installation.ts";

/**
 * Turns maintenance on, or changes its message, and returns it. Every replica of the API sees it within a
 * moment. Throws KubeError.
 */
export async function beginMaintenance(
  installation: Installation,
  message: string | undefined,
  now: Date,
): Promise<Maintenance> {
  const { client, ref } = at(installation);
  const known = await client.find(ref);
  const maintenance = {
    since: known === undefined ? now.toISOString() : readMaintenance(known).since,
    message,
  };
  const { data } = await client.apply(
    { metadata: ref, data: maintenanceData(maintenance) },
    { fieldManager: fieldManagers.kubectl },
  );
  // A message that somebody else wrote, as by hand, is not of what is applied and would stay.
  if (message === undefined && data?.message !== undefined)
    await client.mergePatch(ref, { data: { message: null } });
  return maintenance;
}

/** Turns maintenance off; returns false when there was none. Throws KubeError. */
export async function endMaintenance(installation: Installation): Promise<boolean> {
  const { client, ref } = at(installation);
  try {
    await client.delete(ref);
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

/** Returns the maintenance that is going on; undefined when there is none. Throws KubeError. */
export async function findMaintenance(installation: Installation): Promise<Maintenance | undefined> {
  const { client, ref } = at(installation);
  const configMap = await client.find(ref);
  return configMap && readMaintenance(configMap);
}

function at({ transport, namespace }: Installation) {
  return {
    client: new ResourceClient(transport, configMaps),
    ref: { namespace, name: maintenanceConfigMap },
  };
}
