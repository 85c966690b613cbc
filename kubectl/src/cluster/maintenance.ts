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
 * Turns maintenance on or changes its message, and returns it. All API replicas notice within a moment.
 * Throws KubeError.
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
  // A message that was written by hand has another field manager, so applying would not remove it.
  if (message === undefined && data?.message !== undefined)
    await client.mergePatch(ref, { data: { message: null } });
  return maintenance;
}

/** Turns maintenance off. Returns false if it was off already. Throws KubeError. */
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

/** Returns the current maintenance; undefined if it is off. Throws KubeError. */
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
