import { useEffect } from 'react';
import icon from './icon.svg';

let view = '';
let openRequests = 0;

/** The title of the tab: the view, and how many questions and approvals wait for a person. */
export function usePageTitle(title: string): void {
  useEffect(() => {
    view = title;
    show();
  }, [title]);
}

/** Called with the number of open questions and approvals, whatever view is shown. */
export function showOpenRequests(count: number): void {
  if (count === openRequests) return;
  openRequests = count;
  show();
}

function show(): void {
  const name = view === '' ? 'Angelia' : `${view} · Angelia`;
  document.title = openRequests === 0 ? name : `(${openRequests}) ${name}`;
  const link = document.querySelector<HTMLLinkElement>('link[rel=icon]');
  const wanted = openRequests === 0 ? icon : iconWith(openRequests);
  if (link !== null && link.getAttribute('href') !== wanted) link.href = wanted;
}

/** The icon with a number on it. */
function iconWith(count: number): string {
  const text = count > 9 ? '9+' : String(count);
  const svg =
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#b91c1c"/>' +
    `<text x="16" y="23" font-family="sans-serif" font-size="20" font-weight="700" text-anchor="middle" fill="#fff">${text}</text></svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}
