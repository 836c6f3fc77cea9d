import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { type Doctor, runDoctor } from '../../api/calls/system-calls.ts';
import { Button } from '../../parts/controls/button.tsx';
import { Badge, type Tone } from '../../parts/feedback/badge.tsx';
import { Failed, Loading } from '../../parts/feedback/states.tsx';
import { Untrusted } from '../../parts/text/text.tsx';
import { Time } from '../../parts/time/time.tsx';
import { byUrgency } from './by-urgency.ts';

const TONES: Readonly<Record<Doctor['findings'][number]['state'], Tone>> = {
  ok: 'ok',
  warning: 'wait',
  fault: 'bad',
  skipped: 'calm',
};

/** What `angelia doctor` finds. It takes seconds, so it runs when somebody asks. */
export function DoctorPanel() {
  const [calls, setCalls] = useState(false);
  const [shown, setShown] = useState<boolean | null>(null);
  const doctor = useQuery({
    queryKey: ['doctor', shown],
    queryFn: () => runDoctor(shown === true),
    enabled: shown !== null,
    retry: false,
    gcTime: 0,
  });
  const run = () => (shown === calls ? void doctor.refetch() : setShown(calls));
  return (
    <section
      className="panel stack system-wide"
      id="doctor"
      aria-labelledby="doctor-title"
      data-row="doctor"
      data-row-focus
      tabIndex={-1}
    >
      <div className="list-actions">
        <h2 id="doctor-title">Doctor</h2>
        {doctor.data !== undefined && (
          <>
            <Badge tone={doctor.data.healthy ? 'ok' : 'bad'}>
              {doctor.data.healthy ? 'healthy' : 'faults'}
            </Badge>
            <span className="muted">
              checked <Time at={doctor.data.checked_at} />
            </span>
          </>
        )}
        <label className="check end">
          <input type="checkbox" checked={calls} onChange={(event) => setCalls(event.target.checked)} />
          Also call targets, models and MCP servers
        </label>
        <Button busy={doctor.isFetching} onClick={run}>
          Check everything
        </Button>
      </div>
      {doctor.isFetching && doctor.data === undefined && <Loading what="the findings" />}
      {doctor.isError && !doctor.isFetching && <Failed error={doctor.error} retry={run} />}
      {shown === null && (
        <p className="muted">
          Checks all that the gateway depends on, as <code>angelia doctor</code> does. It changes nothing and
          sends nobody a message.
        </p>
      )}
      {doctor.data !== undefined && (
        <ul className="findings" aria-label="Findings">
          {byUrgency(doctor.data.findings).map(({ check, state, what, todo }) => (
            <li key={`${check} ${what}`}>
              <Badge tone={TONES[state]}>{state}</Badge>
              <div>
                <code>{check}</code> <Untrusted text={what} />
                {todo !== undefined && (
                  <div>
                    <strong>To do:</strong> <Untrusted text={todo} />
                  </div>
                )}
              </div>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
