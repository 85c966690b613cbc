// checkAudit.mjs FOLDER LEAST <report of npm audit --json: prints the vulnerable packages, and exits with 1
// when one of them has at least that severity. Without a report, because the registry did not answer, it says
// so and passes.
const [folder, least] = process.argv.slice(2);
const order = ["info", "low", "moderate", "high", "critical"];

let text = "";
for await (const piece of process.stdin) text += piece;
const findings = findingsOf(text);
if (findings === undefined) {
  console.log(`${folder}: not audited, because the registry gave no report.`);
} else {
  for (const { name, severity, range } of findings)
    console.log(`${folder}: ${name} ${range} has a ${severity} vulnerability`);
  console.log(`${folder}: audited, ${findings.length} packages with vulnerabilities.`);
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
