/**
 * Others have started the programs again that were stopped. The Job makes no further try: one might pass only
 * because it ended before they did so once more.
 */
export class ScaledUpError extends Error {
  /** The program's exit code, by which the chart's Job knows it. */
  static readonly exitCode = 2;
  override readonly name = "ScaledUpError";

  constructor(deployments: readonly string[]) {
    super(
      `Something has scaled ${deployments.join(" and ")} up again: switch off automatic sync (Argo CD) or suspend the Kustomization (Flux), and run this Job again.`,
    );
  }
}
