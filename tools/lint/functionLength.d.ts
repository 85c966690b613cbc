import type { Rule } from "eslint";

export declare const functionLength: Rule.RuleModule;
