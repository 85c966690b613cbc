/**
 * Reports lines longer than `max` columns. A line that holds a string, a template, JSX text, a regular
 * expression, a URL or a lint directive may be longer, because a formatter cannot break those.
 */
export const lineLength = {
  meta: {
    type: "layout",
    schema: [{ type: "object", properties: { max: { type: "integer" } } }],
    messages: { long: "This line has {{length}} columns; the limit is {{max}}." },
  },
  create(context) {
    const [{ max }] = context.options;
    const exempt = new Set();
    const exemptLines = (node) => {
      for (let line = node.loc.start.line; line <= node.loc.end.line; line++) exempt.add(line);
    };
    return {
      Literal: (node) => {
        if (typeof node.value === "string" || node.regex !== undefined) exemptLines(node);
      },
      TemplateLiteral: exemptLines,
      JSXText: exemptLines,
      "Program:exit": () => {
        context.sourceCode.lines.forEach((text, index) => {
          if (text.length <= max || exempt.has(index + 1) || /https?:\/\/|oxlint-disable/.test(text)) return;
          const loc = {
            start: { line: index + 1, column: max },
            end: { line: index + 1, column: text.length },
          };
          context.report({ loc, messageId: "long", data: { length: text.length, max } });
        });
      },
    };
  },
};
