import { useQuery } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { type Chat, type ChatSetup, listChats } from '../../api/calls/chat-calls.ts';
import { useRowKeys } from '../../app/keyboard/use-row-keys.ts';
import { Page } from '../../app/shell/page.tsx';
import { Button } from '../../parts/controls/button.tsx';
import { CopyButton } from '../../parts/controls/copy-button.tsx';
import { Badge } from '../../parts/feedback/badge.tsx';
import { Empty, Failed, Loading } from '../../parts/feedback/states.tsx';
import { Untrusted } from '../../parts/text/text.tsx';
import { chatState } from './chat-state.ts';
import { PairDialog } from './pair-dialog.tsx';
import { Pairings } from './pairings.tsx';
import { SetupDialog, SetupResult } from './setup-dialog.tsx';
import './chats.css';

/** A lost connection causes no event. */
const POLL_MS = 10_000;

const EXAMPLE = `chats:
  home:
    platform: telegram
    speakers: { users: [123456789] }`;

/** The chats of the config: how each is connected, and who was let in by a code. */
export function ChatsView() {
  const list = useRef<HTMLDivElement>(null);
  useRowKeys(list);
  const chats = useQuery({
    queryKey: ['chats'],
    queryFn: ({ signal }) => listChats(signal),
    refetchInterval: POLL_MS,
  });
  return (
    <Page title="Chats">
      {chats.isPending && <Loading what="the chats" />}
      {chats.isError && chats.data === undefined && (
        <Failed error={chats.error} retry={() => void chats.refetch()} />
      )}
      {chats.data?.length === 0 && (
        <Empty title="There is no chat yet" command={EXAMPLE}>
          People can talk to the gateway where its answers arrive. Name a chat in the config file, for example
          one of Telegram:
        </Empty>
      )}
      <div ref={list} className="chats">
        {chats.data?.map((chat) => (
          <ChatPanel key={chat.name} chat={chat} />
        ))}
      </div>
    </Page>
  );
}

function ChatPanel({ chat }: { readonly chat: Chat }) {
  const [opened, setOpened] = useState<'pair' | 'setup' | null>(null);
  const [setUp, setSetUp] = useState<ChatSetup | null>(null);
  const { name, platform, receive, webhook_url: url, connection } = chat;
  const { tone, text } = chatState(chat);
  const title = `chat-${name}`;
  const close = () => setOpened(null);
  return (
    <section className="panel stack" aria-labelledby={title} data-row={name} data-row-focus tabIndex={-1}>
      <div className="row-head">
        <h2 id={title}>{name}</h2>
        <span className="tag">{platform}</span>
        <Badge tone={tone}>{text}</Badge>
        <span className="muted">{receive === 'webhook' ? 'by webhook' : 'by a connection from here'}</span>
      </div>
      {connection?.error != null && (
        <p className="form-error row-words">
          <Untrusted text={connection.error} />
        </p>
      )}
      {chat.enabled && receive === 'webhook' && url === null && (
        <p className="muted">
          Set <code>public_url</code> in the config, so that {platform} can be told where to send.
        </p>
      )}
      {url !== null && (
        <p className="row-words">
          <span className="muted">Webhook</span> <span className="mono">{url}</span>{' '}
          <CopyButton text={url} of="the address of the webhook" />
        </p>
      )}
      <Pairings chat={name} />
      <div className="row-head">
        <Button aria-label={`Set up at ${platform}: ${name}`} onClick={() => setOpened('setup')}>
          Set up at {platform}…
        </Button>
        <Button kind="main" aria-label={`Let somebody in to ${name}`} onClick={() => setOpened('pair')}>
          Let somebody in…
        </Button>
      </div>
      {opened === 'pair' && <PairDialog chat={name} onClose={close} />}
      {opened === 'setup' && (
        <SetupDialog chat={name} platform={platform} onDone={setSetUp} onClose={close} />
      )}
      {setUp !== null && (
        <SetupResult title={`${name} at ${platform}`} result={setUp} onClose={() => setSetUp(null)} />
      )}
    </section>
  );
}
