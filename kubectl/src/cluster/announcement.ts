import { announcementConfigMap, announcementData, type Announcement } from "#contracts/announcement.ts";
import { fieldManagers } from "#contracts/crd/names.ts";
import { configMaps } from "#kube/api/builtin.ts";
import { isNotFound } from "#kube/api/errors.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import type { Installation } from "./installation.ts";

/** Shows a message to everyone who plays. All API replicas notice within a moment. Throws KubeError. */
export async function announce(installation: Installation, announcement: Announcement): Promise<void> {
  const { client, ref } = at(installation);
  await client.apply(
    { metadata: ref, data: announcementData(announcement) },
    { fieldManager: fieldManagers.kubectl },
  );
}

/** Removes the message. Returns false if there was none. Throws KubeError. */
export async function endAnnouncement(installation: Installation): Promise<boolean> {
  const { client, ref } = at(installation);
  try {
    await client.delete(ref);
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

function at({ transport, namespace }: Installation) {
  return {
    client: new ResourceClient(transport, configMaps),
    ref: { namespace, name: announcementConfigMap },
  };
}
