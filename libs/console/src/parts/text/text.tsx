import { useState } from 'react';
import { Button } from '../controls/button.tsx';
import { ScrollBox } from './scroll-box.tsx';
import { beginning, bytesText, visibleText } from './visible-text.ts';

/** A short text of strangers: a title, a reason, a path. It cannot change what is around it. */
export function Untrusted({ text, className = '' }: { readonly text: string; readonly className?: string }) {
  return (
    <bdi dir="auto" className={`untrusted ${className}`}>
      {visibleText(beginning(text, 2_000))}
    </bdi>
  );
}

/** Longer texts are shown in part at first, because a browser takes seconds to lay out a megabyte. */
const SHOWN_AT_FIRST = 5_000;

/** A long text of strangers as it is: output of a command, a prompt. */
export function LongText({ text, label }: { readonly text: string; readonly label: string }) {
  const [whole, setWhole] = useState(false);
  const shown = whole ? text : beginning(text, SHOWN_AT_FIRST);
  return (
    <div className="long-text">
      <ScrollBox label={label}>{visibleText(shown)}</ScrollBox>
      {shown.length < text.length && (
        <Button onClick={() => setWhole(true)}>Show all ({bytesText(text.length)})</Button>
      )}
    </div>
  );
}
