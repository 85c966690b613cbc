/**
 * A requirement of a label selector. `In` and `NotIn` have values; `NotIn` also matches objects without the
 * label.
 */
export interface LabelRequirement {
  key: string;
  operator: "In" | "NotIn" | "Exists" | "DoesNotExist";
  values?: string[];
}

const name = "[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?";
const part = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?";
/** A label key: a name with an optional domain prefix. */
export const labelKey = new RegExp(`^(?:${part}(?:[.]${part})*/)?${name}$`);
/** A label value, which may be empty. */
export const labelValue = new RegExp(`^(?:${name})?$`);

const inSet = /^(\S+)\s+(in|notin)\s*\(([^()]*[^()\s][^()]*)\)$/;
const equality = /^([^\s=!]+)\s*(==?|!=)\s*(\S*)$/;

/**
 * Parses a label selector: `key`, `!key`, `key=value`, `key!=value`, `key in (a,b)` and `key notin (a,b)`,
 * separated by commas. All requirements must match. Empty text has none. Throws for invalid text.
 */
export function parseLabelSelector(text: string): LabelRequirement[] {
  if (text.trim() === "") return [];
  return splitTerms(text).map(requirementOf);
}

/** Returns whether these labels match all requirements. */
export function matchesLabels(
  labels: Readonly<Record<string, string>> | undefined,
  requirements: readonly LabelRequirement[],
): boolean {
  return requirements.every(({ key, operator, values = [] }) => {
    const value = labels?.[key];
    switch (operator) {
      case "Exists":
        return value !== undefined;
      case "DoesNotExist":
        return value === undefined;
      case "In":
        return value !== undefined && values.includes(value);
      case "NotIn":
        return value === undefined || !values.includes(value);
    }
  });
}

/** Splits at commas that are not in parentheses. */
function splitTerms(text: string): string[] {
  return text.split(/,(?![^()]*\))/).map((term) => term.trim());
}

function requirementOf(term: string): LabelRequirement {
  const [, setKey = "", setOperator, list = ""] = inSet.exec(term) ?? [];
  if (setOperator !== undefined)
    return withValues(
      term,
      setKey,
      setOperator === "in" ? "In" : "NotIn",
      list.split(",").map((value) => value.trim()),
    );
  const [, key = "", sign, value = ""] = equality.exec(term) ?? [];
  if (sign !== undefined) return withValues(term, key, sign === "!=" ? "NotIn" : "In", [value]);
  const bare = term.replace(/^!\s*/, "");
  if (!labelKey.test(bare)) throw noRequirement(term);
  return { key: bare, operator: term.startsWith("!") ? "DoesNotExist" : "Exists" };
}

function withValues(term: string, key: string, operator: "In" | "NotIn", values: string[]): LabelRequirement {
  if (!labelKey.test(key) || !values.every((value) => labelValue.test(value))) throw noRequirement(term);
  return { key, operator, values };
}

function noRequirement(term: string): Error {
  return new Error(
    `"${term}" is not a label requirement: write key, !key, key=value, key!=value, key in (a,b) or key notin (a,b), separated by commas`,
  );
}
