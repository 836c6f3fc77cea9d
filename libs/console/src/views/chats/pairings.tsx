import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { listPairings, type Pairing, revokePairing } from '../../api/calls/chat-calls.ts';
import { typesOf, useRefresh } from '../../api/feed/use-refresh.ts';
import { Button } from '../../parts/controls/button.tsx';
import { Confirm } from '../../parts/dialog/confirm.tsx';
import { Badge } from '../../parts/feedback/badge.tsx';
import { Failed, Loading } from '../../parts/feedback/states.tsx';
import { tell } from '../../parts/feedback/toasts.tsx';
import { Untrusted } from '../../parts/text/text.tsx';
import { Countdown, Time } from '../../parts/time/time.tsx';

/** The expiry of a code causes no event. */
const POLL_MS = 30_000;

export const pairingsKey = (chat: string) => ['pairings', chat] as const;

/** Lists them, and asks again when one is made, used or revoked. */
export function usePairings(chat: string) {
  const queryKey = pairingsKey(chat);
  useRefresh(queryKey, typesOf('pairing.'));
  return useQuery({
    queryKey,
    queryFn: ({ signal }) => listPairings(chat, signal),
    refetchInterval: POLL_MS,
  });
}

/** Who was let in to a chat by a code, and codes that wait. Each can be revoked. */
export function Pairings({ chat }: { readonly chat: string }) {
  const pairings = usePairings(chat);
  const [revoking, setRevoking] = useState<Pairing | null>(null);
  if (pairings.isPending) return <Loading what="who was let in" />;
  if (pairings.data === undefined)
    return <Failed error={pairings.error} retry={() => void pairings.refetch()} />;
  if (pairings.data.length === 0)
    return (
      <p className="muted">
        Nobody was let in by a code. Those whom <code>speakers</code> of the config names may speak.
      </p>
    );
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard has to reach it. */}
      <section className="table-scroll" aria-label={`Let in to ${chat} by a code`} tabIndex={0}>
        <table className="table">
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">Who</th>
              <th scope="col">Since</th>
              <th scope="col">Code by</th>
              <th scope="col">
                <span className="hidden-text">Revoke</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {pairings.data.map((pairing) => (
              <PairingRow key={pairing.id} pairing={pairing} onRevoke={() => setRevoking(pairing)} />
            ))}
          </tbody>
        </table>
      </section>
      {revoking !== null && (
        <RevokePairing chat={chat} pairing={revoking} onClose={() => setRevoking(null)} />
      )}
    </>
  );
}

function PairingRow({ pairing, onRevoke }: { readonly pairing: Pairing; readonly onRevoke: () => void }) {
  const { name, accepted, expires_at, offered_by } = pairing;
  return (
    <tr>
      <td>{name}</td>
      <td>
        {accepted === null ? (
          <Badge tone="wait">code not used</Badge>
        ) : (
          <>
            {accepted.kind === 'user' ? 'person' : 'group'}{' '}
            <span className="mono">
              <Untrusted text={accepted.id} />
            </span>
          </>
        )}
      </td>
      <td>
        {accepted === null ? (
          <>
            expires <Countdown until={Date.parse(expires_at)} />
          </>
        ) : (
          <Time at={accepted.at} />
        )}
      </td>
      <td>
        <Untrusted text={offered_by} />
      </td>
      <td>
        <Button aria-label={`Revoke ${name}`} onClick={onRevoke}>
          Revoke…
        </Button>
      </td>
    </tr>
  );
}

function RevokePairing(props: {
  readonly chat: string;
  readonly pairing: Pairing;
  readonly onClose: () => void;
}) {
  const queries = useQueryClient();
  const { id, name, accepted } = props.pairing;
  return (
    <Confirm
      title={`Revoke ${name}`}
      act="Revoke"
      danger
      onClose={props.onClose}
      run={async () => {
        await revokePairing(props.chat, id);
        tell(`${name} is revoked.`);
        await queries.invalidateQueries({ queryKey: pairingsKey(props.chat) });
      }}
    >
      <p>
        {accepted === null
          ? 'The code no longer works.'
          : accepted.kind === 'user'
            ? 'Within two seconds, this person may no longer speak, unless the config names them. Running sessions continue.'
            : 'Within two seconds, nobody in this group may speak any more, unless the config names them. Running sessions continue.'}
      </p>
    </Confirm>
  );
}
