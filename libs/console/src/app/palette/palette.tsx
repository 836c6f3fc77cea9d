import { useNavigate } from '@tanstack/react-router';
import { useId, useState } from 'react';
import { Icon, type IconName } from '../../parts/controls/icon.tsx';
import { Dialog } from '../../parts/dialog/dialog.tsx';
import { visibleText } from '../../parts/text/visible-text.ts';
import { setPreferences } from '../preferences/preferences.ts';
import { DESTINATIONS } from '../shell/navigation.ts';
import { matching } from './matching.ts';

interface Command {
  readonly name: string;
  readonly icon: IconName;
  readonly run: () => unknown;
}

const SESSION_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Every view and setting by its name, and any session by its id or title. */
export function Palette({ onClose, onHelp }: { readonly onClose: () => void; readonly onHelp: () => void }) {
  const navigate = useNavigate();
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const list = useId();
  const fixed: readonly Command[] = [
    ...DESTINATIONS.map(({ to, name, icon }) => ({
      name: `Go to ${name}`,
      icon,
      run: () => navigate({ to }),
    })),
    { name: 'New route', icon: 'routes' as const, run: () => navigate({ to: '/new-route' }) },
    ...(['failed', 'cancelled', 'expired'] as const).map((outcome) => ({
      name: `Sessions that ${outcome === 'failed' ? 'failed' : `were ${outcome}`} in the last hour`,
      icon: 'sessions' as const,
      run: () => navigate({ to: '/sessions', search: { outcome, ended_since: '1h' } }),
    })),
    ...(['system', 'light', 'dark'] as const).map((theme) => ({
      name: `Theme: ${theme}`,
      icon: 'theme' as const,
      run: () => setPreferences({ theme }),
    })),
    { name: 'Times in UTC', icon: 'clock', run: () => setPreferences({ zone: 'utc' }) },
    { name: 'Times of this computer', icon: 'clock', run: () => setPreferences({ zone: 'local' }) },
    { name: 'Keyboard help', icon: 'help', run: onHelp },
  ];
  const typed = text.trim();
  const commands: readonly Command[] = [
    ...(SESSION_ID.test(typed)
      ? [
          {
            name: `Open session ${typed}`,
            icon: 'sessions' as const,
            run: () => navigate({ to: '/sessions/$id', params: { id: typed.toLowerCase() } }),
          },
        ]
      : []),
    ...matching(fixed, typed),
    ...(typed === ''
      ? []
      : [
          {
            name: `Find sessions: ${typed}`,
            icon: 'search' as const,
            run: () => navigate({ to: '/sessions', search: { q: typed } }),
          },
        ]),
  ];
  const current = Math.min(chosen, commands.length - 1);
  const run = (command: Command | undefined) => {
    onClose();
    command?.run();
  };
  const move = (by: number) => setChosen((current + by + commands.length) % commands.length);
  return (
    <Dialog title="Command palette" onClose={onClose} bare>
      <input
        className="palette-input"
        autoFocus
        type="text"
        role="combobox"
        aria-label="Command, session id or text"
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={`${list}-${current}`}
        autoComplete="off"
        spellCheck={false}
        placeholder="Type a command, a session id or a text"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setChosen(0);
        }}
        onKeyDown={(event) => {
          if (event.key === 'ArrowDown') move(1);
          else if (event.key === 'ArrowUp') move(-1);
          else if (event.key === 'Enter') run(commands[current]);
          else return;
          event.preventDefault();
        }}
      />
      <div id={list} role="listbox" aria-label="Commands" className="palette-list">
        {commands.map((command, index) => (
          // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the field (combobox).
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keys.
          <div
            key={command.name}
            id={`${list}-${index}`}
            role="option"
            aria-selected={index === current}
            className="palette-option"
            ref={(element) => {
              if (index === current) element?.scrollIntoView({ block: 'nearest' });
            }}
            onClick={() => run(command)}
          >
            <Icon name={command.icon} />
            <span className="cut">{visibleText(command.name)}</span>
          </div>
        ))}
      </div>
    </Dialog>
  );
}
