import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { BrowserRouter } from "react-router";
import { QueryClientProvider } from "@tanstack/react-query";
import { z } from "zod";
import { App } from "./App.tsx";
import { PageFailure } from "./PageFailure.tsx";
import { createQueryClient } from "./queryClient.ts";
import { reloadForRelease } from "./reloadForRelease.ts";
import { clientIdOfTab } from "./stream/clientId.ts";
import "./styles/base.css";
import "./styles/controls.css";
import "./styles/pages.css";
import "./styles/play.css";
import "./styles/forcedColors.css";

// The page's content security policy allows no code from text, which zod would otherwise try to make.
z.config({ jitless: true });

reloadForRelease();
// Each page takes the tab's id out of its storage, also one that shows no game: a copy of the tab would bring
// it along.
clientIdOfTab();

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
