import { Link, Outlet, useLocation, useNavigate } from '@tanstack/react-router';
import { type ReactNode, Suspense, useEffect, useRef, useState } from 'react';
import { useFeedState } from '../../api/feed/use-feed.ts';
import { currentSession, signOut } from '../../api/session.ts';
import { Icon } from '../../parts/controls/icon.tsx';
import { Dialog } from '../../parts/dialog/dialog.tsx';
import { Loading } from '../../parts/feedback/states.tsx';
import { tellFailure } from '../../parts/feedback/toasts.tsx';
import { KeyboardHelp } from '../keyboard/help.tsx';
import { useHotkeys } from '../keyboard/use-hotkeys.ts';
import { Palette } from '../palette/palette.tsx';
import { setPreferences, usePreferences } from '../preferences/preferences.ts';
import { DESTINATIONS, type Destination } from './navigation.ts';
import { useOpenRequests } from './open-requests.ts';
import { showOpenRequests } from './page-title.ts';
import { Trouble } from './trouble.tsx';

/** What every view is in: the navigation, the palette and the help. */
export function Shell() {
  const [opened, setOpened] = useState<'palette' | 'help' | 'more' | null>(null);
  const main = useRef<HTMLElement>(null);
  const { pathname } = useLocation();
  const waiting = useOpenRequests();
  useEffect(() => void showOpenRequests(waiting), [waiting]);
  useHotkeys({
    '?': () => setOpened('help'),
    'mod+k': () => setOpened('palette'),
  });
  // A new page begins at its top, also for those who read it with the keyboard.
  // biome-ignore lint/correctness/useExhaustiveDependencies: it follows the path.
  useEffect(() => {
    main.current?.scrollTo(0, 0);
    if (document.activeElement === document.body || document.activeElement?.closest('nav') != null)
      main.current?.focus({ preventScroll: true });
    setOpened(null);
  }, [pathname]);
  const badge = (to: Destination['to']) => (to === '/inbox' ? waiting : 0);
  return (
    <div className="shell">
      <a className="skip-link" href="#main">
        Skip to the content
      </a>
      <nav className="side" aria-label="Views">
        <div className="brand">
          <span className="brand-mark" aria-hidden="true">
            A
          </span>
          Angelia
        </div>
        <button type="button" className="palette-button" onClick={() => setOpened('palette')}>
          <Icon name="search" />
          <span>Go to…</span>
          <kbd>Ctrl K</kbd>
        </button>
        <ul>
          {DESTINATIONS.map((destination) => (
            <li key={destination.to}>
              <ViewLink {...destination} count={badge(destination.to)} />
            </li>
          ))}
        </ul>
        <div className="side-end">
          <LiveMark />
          <Settings onHelp={() => setOpened('help')} />
        </div>
      </nav>
      <main id="main" ref={main} tabIndex={-1}>
        <Trouble />
        <Suspense fallback={<Loading what="the view" />}>
          <Outlet />
        </Suspense>
      </main>
      <nav className="bottom" aria-label="Views, short">
        {DESTINATIONS.filter(({ onPhone }) => onPhone).map((destination) => (
          <ViewLink key={destination.to} {...destination} count={badge(destination.to)} />
        ))}
        <button type="button" className="view-link" onClick={() => setOpened('more')}>
          <Icon name="more" />
          <span>More</span>
        </button>
      </nav>
      {opened === 'palette' && <Palette onClose={() => setOpened(null)} onHelp={() => setOpened('help')} />}
      {opened === 'help' && <KeyboardHelp onClose={() => setOpened(null)} />}
      {opened === 'more' && (
        <Dialog title="More" onClose={() => setOpened(null)}>
          <ul className="more-views">
            {DESTINATIONS.filter(({ onPhone }) => !onPhone).map((destination) => (
              <li key={destination.to}>
                <ViewLink {...destination} count={0} />
              </li>
            ))}
          </ul>
          <LiveMark />
          <Settings onHelp={() => setOpened('help')} />
        </Dialog>
      )}
    </div>
  );
}

function ViewLink({ to, name, icon, count }: Destination & { readonly count: number }) {
  return (
    <Link to={to} className="view-link" activeOptions={{ exact: to === '/' }}>
      <Icon name={icon} />
      <span>{name}</span>
      {count > 0 && (
        <span className="count">
          {count}
          <span className="hidden-text"> open</span>
        </span>
      )}
    </Link>
  );
}

/** Says whether what is shown is live. */
function LiveMark() {
  const state = useFeedState();
  return (
    <p className={`live live-${state}`} role="status">
      <span className="live-dot" aria-hidden="true" />
      {state === 'live' ? 'Live' : state === 'connecting' ? 'Reconnecting…' : 'Not live'}
    </p>
  );
}

const NEXT_THEME = { system: 'light', light: 'dark', dark: 'system' } as const;

function Settings({ onHelp }: { readonly onHelp: () => void }) {
  const { theme, zone } = usePreferences();
  return (
    <div className="settings">
      <SettingButton
        label={`Time zone: ${zone === 'utc' ? 'UTC' : 'local'}. Switch`}
        icon={<Icon name="clock" />}
        onClick={() => setPreferences({ zone: zone === 'utc' ? 'local' : 'utc' })}
      />
      <SettingButton
        label={`Theme: ${theme}. Switch`}
        icon={<Icon name="theme" />}
        onClick={() => setPreferences({ theme: NEXT_THEME[theme] })}
      />
      <SettingButton label="Keyboard help" icon={<Icon name="help" />} onClick={onHelp} />
      <SignOutButton />
    </div>
  );
}

function SignOutButton() {
  const navigate = useNavigate();
  const leave = async () => {
    await signOut();
    await navigate({ to: '/sign-in' });
  };
  return (
    <SettingButton
      label={`Sign out ${currentSession()?.actor ?? ''}`.trim()}
      icon={<Icon name="out" />}
      onClick={() => void leave().catch(tellFailure)}
    />
  );
}

function SettingButton(props: {
  readonly label: string;
  readonly icon: ReactNode;
  readonly onClick: () => void;
}) {
  return (
    <button
      type="button"
      className="icon-button"
      aria-label={props.label}
      title={props.label}
      onClick={props.onClick}
    >
      {props.icon}
    </button>
  );
}
