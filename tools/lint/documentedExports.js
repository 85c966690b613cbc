/**
 * Exported functions and classes carry a doc comment that says what they promise. A factory (`createX`,
 * `startX`) may leave that to the type that it makes, when that is documented in the same file.
 */
export const documentedExports = {
  meta: {
    type: "suggestion",
    schema: [],
    messages: { missing: "Say in a doc comment what {{name}} promises." },
  },
  create(context) {
    const { sourceCode } = context;

    function isDocumented(statement) {
      return sourceCode
        .getCommentsBefore(statement)
        .some(({ type, value }) => type === "Block" && value.startsWith("*"));
    }

    function isDocumentedType(name) {
      return sourceCode.ast.body.some(
        (statement) => (statement.declaration ?? statement).id?.name === name && isDocumented(statement),
      );
    }

    /** The name of what a function gives, or resolves to. */
    function resultOf({ returnType }) {
      const type = returnType?.typeAnnotation;
      const inner = type?.typeName?.name === "Promise" ? type.typeArguments?.params[0] : type;
      return inner?.typeName?.name;
    }

    return {
      "ExportNamedDeclaration > :matches(FunctionDeclaration, ClassDeclaration)"(node) {
        const { name } = node.id;
        if (
          isDocumented(node.parent) ||
          (/^(create|start)[A-Z]/.test(name) && isDocumentedType(resultOf(node)))
        )
          return;
        context.report({ node: node.id, messageId: "missing", data: { name } });
      },
    };
  },
};
