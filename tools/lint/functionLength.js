/**
 * A function fits a screen. Functions inside it do not count for it, but for themselves: a factory is as long
 * as the list of what it makes.
 */
export const functionLength = {
  meta: {
    type: "suggestion",
    schema: [{ type: "object", properties: { max: { type: "integer" } } }],
    messages: {
      long: "{{name}} has {{lines}} lines without nested functions; the limit is {{max}}. Extract a step.",
    },
  },
  create(context) {
    const [{ max }] = context.options;
    const lengths = [];
    const enter = () => lengths.push(0);
    const leave = (node) => {
      const inner = lengths.pop();
      const all = node.loc.end.line - node.loc.start.line + 1;
      // The lines on which an inner function begins and ends are the outer one's.
      if (lengths.length > 0) lengths.push(lengths.pop() + Math.max(0, all - 2));
      if (all - inner > max)
        context.report({
          node,
          messageId: "long",
          data: { name: node.id?.name ?? "This function", lines: all - inner, max },
        });
    };
    return { ":function": enter, ":function:exit": leave };
  },
};
