// The minimal cost of an operator's start: reads the lists that the operator watches and parses them. Usage:
// `node listProgram.ts KUBECONFIG PATH…`.
import { readFileSync } from "node:fs";
import { Agent, request } from "node:https";

const [kubeconfigPath = "", ...paths] = process.argv.slice(2);
const {
  clusters: [{ cluster }],
  users: [{ user }],
} = JSON.parse(readFileSync(kubeconfigPath, "utf8")) as {
  clusters: [{ cluster: { server: string; "certificate-authority-data": string } }];
  users: [{ user: { token: string } }];
};
const agent = new Agent({
  keepAlive: true,
  ca: Buffer.from(cluster["certificate-authority-data"], "base64"),
});

/** Returns the number of objects. */
async function list(path: string): Promise<number> {
  const text = await new Promise<string>((resolve, reject) => {
    request(
      `${cluster.server}${path}`,
      { agent, headers: { authorization: `Bearer ${user.token}`, accept: "application/json" } },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.once("end", () => {
          const body = Buffer.concat(chunks).toString();
          if (response.statusCode === 200) resolve(body);
          else reject(new Error(`GET ${path} was answered with ${response.statusCode}: ${body}`));
        });
      },
    )
      .once("error", reject)
      .end();
  });
  return (JSON.parse(text) as { items: unknown[] }).items.length;
}

const counts = await Promise.all(paths.map(list));
console.log(counts.join(" "));
agent.destroy();
