import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { reloadConfig, type System } from '../../api/calls/system-calls.ts';
import { Button } from '../../parts/controls/button.tsx';
import { Badge } from '../../parts/feedback/badge.tsx';
import { Failed } from '../../parts/feedback/states.tsx';
import { tell } from '../../parts/feedback/toasts.tsx';
import { JsonView } from '../../parts/json/json-view.tsx';
import { Untrusted } from '../../parts/text/text.tsx';

/** The config in force, with its secrets masked. */
export function ConfigPanel({ config }: { readonly config: System['config'] }) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const queries = useQueryClient();
  const reload = async () => {
    setBusy(true);
    setError(null);
    try {
      const { status } = await reloadConfig();
      tell(status === 'taken' ? 'The config file is in force.' : 'The config file has not changed.');
    } catch (refused) {
      setError(refused);
    }
    setBusy(false);
    await queries.invalidateQueries({ queryKey: ['system'] });
  };
  return (
    <section
      className="panel stack system-wide"
      id="config"
      aria-labelledby="config-title"
      data-row="config"
      data-row-focus
      tabIndex={-1}
    >
      <div className="list-actions">
        <h2 id="config-title">Config in force</h2>
        <Badge tone={config.in_force === 'file' ? 'ok' : 'bad'}>
          {config.in_force === 'file' ? 'the file' : 'the last good one: the file is wrong'}
        </Badge>
        <span className="mono">
          <Untrusted text={config.file} />
        </span>
        <Button className="end" busy={busy} onClick={() => void reload()}>
          Read the file again
        </Button>
      </div>
      {config.problems.length > 0 && (
        <ul className="form-error" aria-label="What is wrong with the file">
          {config.problems.map((problem) => (
            <li key={problem}>
              <Untrusted text={problem} />
            </li>
          ))}
        </ul>
      )}
      {config.restart_needed.length > 0 && (
        <p className="form-error">
          These keys changed and need a restart:{' '}
          {config.restart_needed.map((key) => (
            <code key={key}>{key} </code>
          ))}
        </p>
      )}
      {error !== null && <Failed error={error} />}
      <JsonView value={config.values} label="Values of the config" open={1} />
    </section>
  );
}
