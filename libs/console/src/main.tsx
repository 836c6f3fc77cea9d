import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { ApiError } from './api/api-error.ts';
import { liveFeed } from './api/feed/live-feed.ts';
import { currentSession, onSessionChange } from './api/session.ts';
import { applyTheme } from './app/preferences/preferences.ts';
import { router } from './app/router.tsx';
import { showOpenRequests } from './app/shell/page-title.ts';
import { closeAll } from './parts/feedback/toasts.tsx';
import './style/tokens.css';
import './style/base.css';
import './style/parts.css';
import './style/shell.css';

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // The live feed says when something changed.
      staleTime: 30_000,
      refetchOnWindowFocus: false,
      // A gateway on this machine answers without a network, too.
      networkMode: 'always',
      // While the gateway is away or restarts, go on asking; a refusal stays a refusal.
      retry: (_count, error) => error instanceof ApiError && error.passes,
      retryDelay: (count, error) =>
        (error instanceof ApiError && error.retryAfter !== null
          ? error.retryAfter
          : Math.min(2 ** count, 10)) * 1_000,
    },
  },
});

// After sign-out, and when the session is over, nothing of it stays in memory.
onSessionChange(() => {
  if (currentSession() !== null) return;
  queries.clear();
  closeAll();
  showOpenRequests(0);
  void router.invalidate();
});

applyTheme();
liveFeed.start();

const element = document.getElementById('console');
if (element !== null)
  createRoot(element).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </StrictMode>,
  );
