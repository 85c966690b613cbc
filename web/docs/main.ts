// The page at /docs: Redoc over the API's own /openapi.json.
import licence from "redoc/bundles/redoc.standalone.js.LICENSE.txt?url";
import redoc from "redoc/bundles/redoc.standalone.js?url";

declare const Redoc: {
  init(
    document: string,
    options: Readonly<Record<string, unknown>>,
    element: HTMLElement,
    callback: (error?: Error) => void,
  ): void;
};

const reference = document.getElementById("reference");
if (reference === null) throw new Error("index.html has no element with the id reference.");

function showFailure(): void {
  reference?.replaceChildren(
    Object.assign(document.createElement("p"), {
      textContent: "The API reference could not be loaded. Reload the page, or read /openapi.json.",
    }),
  );
}

// Redoc is a classic script that sets a global variable; a bundler cannot import it.
const script = Object.assign(document.createElement("script"), { src: redoc, onerror: showFailure });
script.addEventListener("load", () => {
  const options = { hideHostname: true, expandResponses: "200,201,202", jsonSampleExpandLevel: 3 };
  Redoc.init("/openapi.json", options, reference, (error) => {
    if (error !== undefined) showFailure();
  });
});
document.head.append(
  Object.assign(document.createElement("link"), { rel: "license", href: licence }),
  script,
);
