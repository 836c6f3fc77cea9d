import { useEffect, useState } from 'react';
import { Icon } from './icon.tsx';

/** Copies a text, or what a function makes when it is pressed. `of` names what is copied, for people who do not see where the button is. */
export function CopyButton({ text, of }: { readonly text: string | (() => string); readonly of: string }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 2_000);
    return () => clearTimeout(timer);
  }, [copied]);
  return (
    <>
      <button
        type="button"
        className="icon-button"
        aria-label={`Copy ${of}`}
        title={`Copy ${of}`}
        onClick={() => void copy(typeof text === 'string' ? text : text()).then(setCopied)}
      >
        <Icon name={copied ? 'done' : 'copy'} />
      </button>
      <span className="hidden-text" role="status">
        {copied ? 'Copied' : ''}
      </span>
    </>
  );
}

/** False: the browser allows it neither way. */
async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // The clipboard's API needs HTTPS or loopback. The old way works everywhere.
    const area = document.createElement('textarea');
    area.value = text;
    area.style.position = 'fixed';
    area.style.opacity = '0';
    const parent = document.querySelector('dialog[open]') ?? document.body;
    parent.append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    return done;
  }
}
