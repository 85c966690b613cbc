/** What the control plane's image runs; `make built` makes it of the sources. */
export const operatorProgram = "api/dist/programs/operator.js";
export const apiProgram = "api/dist/programs/api.js";
export const agentProgram = "api/dist/programs/nodeAgent.js";
