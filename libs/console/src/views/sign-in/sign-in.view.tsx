import { useNavigate, useSearch } from '@tanstack/react-router';
import { type FormEvent, useEffect, useEffectEvent, useRef, useState } from 'react';
import { messageOf } from '../../api/api-error.ts';
import { currentSession, findSession, findSessionAgain, onSessionChange, signIn } from '../../api/session.ts';
import { usePageTitle } from '../../app/shell/page-title.ts';
import { Button } from '../../parts/controls/button.tsx';
import { Command, Loading } from '../../parts/feedback/states.tsx';
import { returnPath } from './return-path.ts';
import './sign-in.css';

/**
 * Signs in by the code in the fragment of a one-time link, or by the admin token. The code is taken out of the address at
 * once, so that it is neither in the history nor in a bookmark. The token is sent once and kept nowhere.
 */
export function SignInView() {
  usePageTitle('Sign in');
  const navigate = useNavigate();
  const { next } = useSearch({ from: '/sign-in' });
  const [error, setError] = useState<string | null>(null);
  const [busy, setBusy] = useState(codeInAddress() !== null);
  const field = useRef<HTMLInputElement>(null);

  const enter = async (proof: Parameters<typeof signIn>[0]) => {
    setBusy(true);
    setError(null);
    try {
      await signIn(proof);
    } catch (refused) {
      setError(messageOf(refused));
      setBusy(false);
      // Whoever opens a link a second time may be signed in by the first.
      if ('code' in proof) look(findSession);
    }
  };

  const goOn = useEffectEvent(() => {
    if (currentSession() !== null) void navigate({ href: returnPath(next), replace: true });
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the page is opened.
  useEffect(() => {
    const stop = onSessionChange(() => goOn());
    const code = takeCode();
    if (code === null) look(findSession);
    else void enter({ code });
    // Somebody may have signed in by another tab.
    const seen = () => document.visibilityState === 'visible' && look(findSessionAgain);
    document.addEventListener('visibilitychange', seen);
    return () => {
      stop();
      document.removeEventListener('visibilitychange', seen);
    };
  }, []);

  const submit = (event: FormEvent) => {
    event.preventDefault();
    const token = field.current?.value.trim() ?? '';
    if (field.current !== null) field.current.value = '';
    if (token === '') setError('Type the admin token, or open a new sign-in link.');
    else void enter({ token });
  };

  return (
    <main className="sign-in">
      <h1>Angelia</h1>
      {busy ? (
        <Loading what="your session" />
      ) : (
        <form onSubmit={submit}>
          <label htmlFor="token">Admin token</label>
          <input
            id="token"
            ref={field}
            type="password"
            className="field"
            autoComplete="off"
            spellCheck={false}
            aria-describedby="token-hint"
            aria-invalid={error !== null}
          />
          <p id="token-hint" className="muted">
            It is sent once and not kept in this browser. You stay signed in for twelve hours.
          </p>
          {error !== null && (
            <p className="form-error" role="alert">
              {error}
            </p>
          )}
          <Button kind="main" submits>
            Sign in
          </Button>
        </form>
      )}
      <div className="sign-in-other">
        <h2>Or make a sign-in link</h2>
        <p className="muted">It works once, for ten minutes. `npm start` also prints one.</p>
        <Command text="angelia console" />
      </div>
    </main>
  );
}

/** Nobody asked for it, so a failure is not shown: signing in shows the same. */
const look = (find: typeof findSession): void => void find().catch(() => null);

function codeInAddress(): string | null {
  const code = location.hash.slice(1);
  return /^[\w.~-]{8,500}$/.test(code) ? code : null;
}

/** React runs effects twice in development: the code is there once. */
function takeCode(): string | null {
  const code = codeInAddress();
  if (code !== null) history.replaceState(history.state, '', location.pathname + location.search);
  return code;
}
