import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { BrowserRouter } from "react-router";
import { QueryClientProvider } from "@tanstack/react-query";
import { z } from "zod";
import { App } from "./App.tsx";
import { PageFailure } from "./PageFailure.tsx";
import { createQueryClient } from "./queryClient.ts";
import { keepLinkToken } from "./saveLinks/linkToken.ts";
import { reloadForRelease } from "./client/reloadForRelease.ts";
import { readTabClientId } from "./stream/clientId.ts";
import { supportTranslation } from "./translation.ts";
import "./styles/base.css";
import "./styles/controls.css";
import "./styles/pages.css";
import "./styles/history.css";
import "./styles/play.css";
import "./styles/forcedColors.css";

// The content security policy of the page forbids evaluating text as code, which zod would do otherwise.
z.config({ jitless: true });

reloadForRelease();
supportTranslation(document);
// Every page removes the tab's id from its storage, including those without a game: a duplicated tab would
// copy it.
readTabClientId();
keepLinkToken();

const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no element with the id root.");
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={createQueryClient()}>
      <BrowserRouter>
        <PageFailure>
          <App />
        </PageFailure>
      </BrowserRouter>
    </QueryClientProvider>
  </StrictMode>,
);
