import { expect } from "chai";
import { isIssuer } from "#api/auth/issuer.ts";

const tenant = "3f2a9c1e-5b7d-4e80-9a6c-0d1b2e3f4a5b";
const microsoft = "https://login.microsoftonline.com";

describe("isIssuer", () => {
  const cases: [what: string, issuer: string, claimed: string, is: boolean][] = [
    ["takes an issuer for itself", "https://id.test/realm", "https://id.test/realm", true],
    ["takes an issuer for itself with a slash behind its host", "https://id.test", "https://id.test/", true],
    ["takes no other path for the issuer", "https://id.test/realm", "https://id.test/another", false],
    ["compares what is no address as it is", "hub", "hub", true],
    [
      "takes each tenant of Entra's for the issuer of all tenants",
      `${microsoft}/{tenantid}/v2.0`,
      `${microsoft}/${tenant}/v2.0`,
      true,
    ],
    [
      "takes each tenant of Entra's first version for the issuer of all",
      "https://sts.windows.net/{tenantid}/",
      `https://sts.windows.net/${tenant}/`,
      true,
    ],
    [
      "takes only the one tenant for the issuer of one tenant",
      `${microsoft}/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0`,
      `${microsoft}/${tenant}/v2.0`,
      false,
    ],
    [
      "takes no issuer at another origin for that of all tenants",
      `${microsoft}/{tenantid}/v2.0`,
      `https://login.evil.test/${tenant}/v2.0`,
      false,
    ],
    [
      "takes no issuer of another version for that of all tenants",
      `${microsoft}/{tenantid}/v2.0`,
      `${microsoft}/${tenant}/`,
      false,
    ],
    ["takes only ids for tenants", `${microsoft}/{tenantid}/v2.0`, `${microsoft}/common/v2.0`, false],
    [
      "takes only one id for a tenant",
      `${microsoft}/{tenantid}/v2.0`,
      `${microsoft}/${tenant}/${tenant}/v2.0`,
      false,
    ],
    [
      "takes no issuer that is too short for that of all tenants",
      `${microsoft}/{tenantid}/v2.0`,
      `${microsoft}/v2.0`,
      false,
    ],
  ];
  for (const [title, issuer, claimed, is] of cases)
    it(title, () => expect(isIssuer(issuer, claimed)).to.equal(is));
});
