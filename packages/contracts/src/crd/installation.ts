import { z } from "zod";
import type { GameNode } from "./gameNode.ts";
import { group, type ObjectMeta } from "./kind.ts";
import { heartbeatLabel, nodeAgentLabel } from "./names.ts";

/**
 * Label of GameNodes with the installation that they belong to; those of the installation without a name have
 * none.
 */
export const installationLabel = `${group}/installation`;

/**
 * Annotation of GameNodes with the namespace of the sessions that are placed there, which two installations
 * never share.
 */
export const sessionsNamespaceAnnotation = `${group}/sessions-namespace`;

/** What tells the installations of one cluster apart. */
export interface Installation {
  /** Empty for the one that has none. */
  name: string;
  sessionsNamespace: string;
}

/**
 * An installation's name, empty where it has none: it is a label's value, and `true` is what the label of
 * agents' nodes has for the one without a name.
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

/** Returns the value that the label of agents' nodes has on the installation's own. */
export function agentLabelValueOf({ name }: Pick<Installation, "name">): string {
  return name === "" ? "true" : name;
}

/** Returns the labels of the Leases in which the installation's node agents renew their heartbeats. */
export function heartbeatLabelsOf(installation: Pick<Installation, "name">): Record<string, string> {
  return { [heartbeatLabel]: agentLabelValueOf(installation) };
}

/** Returns the label selector of those Leases. */
export function heartbeatSelectorOf(installation: Pick<Installation, "name">): string {
  return `${heartbeatLabel}=${agentLabelValueOf(installation)}`;
}

/** Returns what a GameNode of the installation says of whose it is. */
export function marksOf({
  name,
  sessionsNamespace,
}: Installation): Pick<ObjectMeta, "labels" | "annotations"> {
  return {
    ...(name === "" ? {} : { labels: { [installationLabel]: name } }),
    annotations: { [sessionsNamespaceAnnotation]: sessionsNamespace },
  };
}

/**
 * Returns why the GameNode is another installation's, as a sentence that says what to do; undefined when it
 * is the given one's. One of an earlier release says no namespace.
 */
export function foreignBecause(
  { metadata }: Pick<GameNode, "metadata">,
  { name, sessionsNamespace }: Installation,
): string | undefined {
  const label = metadata.labels?.[installationLabel] ?? "";
  const namespace = metadata.annotations?.[sessionsNamespaceAnnotation];
  if (label !== name) {
    const owner = label === "" ? "the installation without a name" : `the installation ${label}`;
    return (
      `Game node ${metadata.name} belongs to ${owner}: a node has one installation. Give the two installations selectors that share no node (chart value gameNodes.selector). ` +
      `If that one is gone, take away what it left: ${takeAwayNodesOf({ name: label })}; ${takeAwayLabelsOf({ name: label })}`
    );
  }
  if (namespace === undefined || namespace === sessionsNamespace) return undefined;
  return (
    `Game node ${metadata.name} belongs to an installation of the same name whose sessions are in namespace ${namespace}, and those of this one are in ${sessionsNamespace}: ` +
    "give this one a name of its own (chart value installation), and a selector that shares no node with the other's. If that one is gone, delete what it left: " +
    takeAwayNodesOf({ name })
  );
}

function takeAwayNodesOf(installation: Pick<Installation, "name">): string {
  return `kubectl delete gamenodes -l '${gameNodeSelectorOf(installation)}'`;
}

function takeAwayLabelsOf(installation: Pick<Installation, "name">): string {
  return `kubectl label nodes -l ${nodeAgentLabel}=${agentLabelValueOf(installation)} ${nodeAgentLabel}-`;
}
