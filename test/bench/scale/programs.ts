/** The programs of the control plane's image, built by `make built`. */
export const operatorProgram = "api/dist/programs/operator.js";
export const apiProgram = "api/dist/programs/api.js";
export const agentProgram = "api/dist/programs/nodeAgent.js";
