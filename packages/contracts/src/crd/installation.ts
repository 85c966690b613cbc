import { z } from "zod";
import type { GameNode } from "./gameNode.ts";
import { group, type ObjectMeta } from "./kind.ts";
import { heartbeatLabel, nodeAgentLabel } from "./names.ts";

/** Label of GameNodes with the name of their installation. GameNodes of the unnamed one have no label. */
export const installationLabel = `${group}/installation`;

/** Annotation of GameNodes with the namespace of their sessions, which is unique per installation. */
export const sessionsNamespaceAnnotation = `${group}/sessions-namespace`;

/** Identifies an installation within a cluster. */
export interface Installation {
  /** Empty for the unnamed installation. */
  name: string;
  sessionsNamespace: string;
}

/**
 * The name of an installation, empty for the unnamed one. It is used as a label value; `true` is reserved for
 * the nodes of the unnamed installation.
 */
export const installationName = z
  .string()
  .trim()
  .regex(
    /^(?!true$)([a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?)?$/,
    "must be a short name of lower-case letters, digits and hyphens, and not true",
  )
  .default("");

/** Returns the label selector of the installation's GameNodes. */
export function gameNodeSelectorOf({ name }: Pick<Installation, "name">): string {
  return name === "" ? `!${installationLabel}` : `${installationLabel}=${name}`;
}

/** Returns the value of the node agent label on the installation's nodes. */
export function agentLabelValueOf({ name }: Pick<Installation, "name">): string {
  return name === "" ? "true" : name;
}

/** Returns the labels of the heartbeat Leases of the installation's node agents. */
export function heartbeatLabelsOf(installation: Pick<Installation, "name">): Record<string, string> {
  return { [heartbeatLabel]: agentLabelValueOf(installation) };
}

/** Returns the label selector of these Leases. */
export function heartbeatSelectorOf(installation: Pick<Installation, "name">): string {
  return `${heartbeatLabel}=${agentLabelValueOf(installation)}`;
}

/** Returns the label and annotation that assign a GameNode to the installation. */
export function ownershipMetadata({
  name,
  sessionsNamespace,
}: Installation): Pick<ObjectMeta, "labels" | "annotations"> {
  return {
    ...(name === "" ? {} : { labels: { [installationLabel]: name } }),
    annotations: { [sessionsNamespaceAnnotation]: sessionsNamespace },
  };
}

/**
 * Returns a message if the GameNode belongs to another installation, with what to do; undefined otherwise. A
 * GameNode without the namespace annotation can belong to any installation of its name.
 */
export function ownershipConflict(
  { metadata }: Pick<GameNode, "metadata">,
  { name, sessionsNamespace }: Installation,
): string | undefined {
  const label = metadata.labels?.[installationLabel] ?? "";
  const namespace = metadata.annotations?.[sessionsNamespaceAnnotation];
  if (label !== name) {
    const owner = label === "" ? "the unnamed installation" : `the installation ${label}`;
    return (
      `Game node ${metadata.name} belongs to ${owner}. Use the chart value gameNodes.selector to give each installation different nodes. ` +
      `If that installation no longer exists, remove its leftovers: ${deleteNodesCommand({ name: label })}; ${removeLabelsCommand({ name: label })}`
    );
  }
  if (namespace === undefined || namespace === sessionsNamespace) return undefined;
  return (
    `Game node ${metadata.name} belongs to an installation of the same name with sessions in namespace ${namespace}; this one has its sessions in ${sessionsNamespace}. ` +
    "Give this installation a unique name (chart value installation) and different nodes (chart value gameNodes.selector). If the other one no longer exists, remove its leftovers: " +
    deleteNodesCommand({ name })
  );
}

function deleteNodesCommand(installation: Pick<Installation, "name">): string {
  return `kubectl delete gamenodes -l '${gameNodeSelectorOf(installation)}'`;
}

function removeLabelsCommand(installation: Pick<Installation, "name">): string {
  return `kubectl label nodes -l ${nodeAgentLabel}=${agentLabelValueOf(installation)} ${nodeAgentLabel}-`;
}
