const factors: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/**
 * Parses a Kubernetes quantity, for example 0.5 for `500m` and 1024 for `1Ki`; undefined for invalid text.
 */
export function parseQuantity(text: string | undefined): number | undefined {
  const [, number, exponent, suffix = ""] =
    /^([+-]?(?:\d+\.?\d*|\.\d+))(?:([eE][+-]?\d+)|([numkMGTPE]|[KMGTPE]i))?$/.exec(text ?? "") ?? [];
  if (number === undefined) return undefined;
  const factor = factors[suffix];
  return factor === undefined ? undefined : Number(`${number}${exponent ?? ""}`) * factor;
}
