import * as api from "#api/rbac.ts";
import * as nodeAgent from "#node-agent/rbac.ts";
import * as drain from "#operator/drain/rbac.ts";
import * as nodeTest from "#operator/nodeTest/rbac.ts";
import * as operator from "#operator/rbac.ts";

function scopes({
  clusterRules,
  sessionsNamespaceRules,
  releaseNamespaceRules,
}: typeof api | typeof nodeAgent | typeof operator | typeof drain | typeof nodeTest): object {
  return { clusterRules, sessionsNamespaceRules, releaseNamespaceRules };
}

/** The permissions of each program, by scope. The chart creates its Roles from them. */
export const programRules = {
  api: scopes(api),
  operator: {
    ...scopes(operator),
    otherPodsRules: operator.otherPodsRules,
    nodeAgentNamespaceRules: operator.nodeAgentNamespaceRules,
  },
  nodeAgent: { ...scopes(nodeAgent), nodeAgentNamespaceRules: nodeAgent.nodeAgentNamespaceRules },
  drain: scopes(drain),
  nodeTest: scopes(nodeTest),
};
