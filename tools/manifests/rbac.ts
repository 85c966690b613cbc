/** Rules of the programs, collected for the chart. */
export const programRules = {};
