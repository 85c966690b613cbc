// checkAudit.mjs FOLDER LEAST <report of npm audit --json: prints the vulnerable packages. Exits with 1 if one
// has at least severity LEAST, and with 75 if there is no report because the registry did not answer.
const [folder, least] = process.argv.slice(2);
const order = ["info", "low", "moderate", "high", "critical"];

let text = "";
for await (const chunk of process.stdin) text += chunk;
const findings = parseFindings(text);
if (findings === undefined) {
  console.log(`${folder}: audit skipped, the registry gave no report.`);
  process.exitCode = 75;
} else {
  for (const { name, severity, range } of findings)
    console.log(`${folder}: ${name} ${range} has a ${severity} vulnerability`);
  console.log(`${folder}: audited, ${findings.length} vulnerable packages.`);
  if (findings.some(({ severity }) => order.indexOf(severity) >= order.indexOf(least))) process.exitCode = 1;
}

function parseFindings(report) {
  try {
    const { vulnerabilities } = JSON.parse(report);
    return vulnerabilities === undefined ? undefined : Object.values(vulnerabilities);
  } catch {
    return undefined;
  }
}
