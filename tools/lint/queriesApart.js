const queries = /^(query|find(Unique|First)(OrThrow)?|findMany|(create|update)Many(AndReturn)?|deleteMany)$/;

/**
 * SQL and Prisma's queries are not sent from where something is decided: the files that may do so are named
 * in oxlint.config.ts.
 */
export const queriesApart = {
  meta: {
    type: "suggestion",
    schema: [],
    messages: {
      elsewhere:
        "SQL and Prisma's queries live in the noun's …Queries.ts: docs/decisions/0014-database-access.md.",
    },
  },
  create(context) {
    return {
      CallExpression(node) {
        if (node.callee.type === "MemberExpression" && queries.test(node.callee.property.name ?? ""))
          context.report({ node, messageId: "elsewhere" });
      },
    };
  },
};
