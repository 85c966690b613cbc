// judgeAudit.mjs FOLDER LEAST <report of npm audit --json: prints what it says, and exits with 1 when it tells of a weakness of at
// least that seriousness. A report that is none, because the registry did not answer, passes and says so.
const [folder, least] = process.argv.slice(2);
const order = ["info", "low", "moderate", "high", "critical"];

let text = "";
for await (const piece of process.stdin) text += piece;
const findings = findingsOf(text);
if (findings === undefined) {
  console.log(`${folder}: not audited, because the registry gave no report.`);
} else {
  for (const { name, severity, range } of findings) console.log(`${folder}: ${name} ${range} has a ${severity} weakness`);
  console.log(`${folder}: audited, ${findings.length} packages with weaknesses.`);
  if (findings.some(({ severity }) => order.indexOf(severity) >= order.indexOf(least))) process.exitCode = 1;
}

function findingsOf(report) {
  try {
    const { vulnerabilities } = JSON.parse(report);
    return vulnerabilities === undefined ? undefined : Object.values(vulnerabilities);
  } catch {
    return undefined;
  }
}
