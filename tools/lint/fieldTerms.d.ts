import type { Rule } from "eslint";

export declare const fieldTerms: Rule.RuleModule;
