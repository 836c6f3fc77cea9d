import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { json } from '@codemirror/lang-json';
import {
  bracketMatching,
  defaultHighlightStyle,
  HighlightStyle,
  syntaxHighlighting,
} from '@codemirror/language';
import { Compartment, EditorState } from '@codemirror/state';
import { EditorView, keymap, lineNumbers } from '@codemirror/view';
import { useEffect, useEffectEvent, useRef } from 'react';

export interface CodeEditorProps {
  readonly label: string;
  readonly value: string;
  readonly onChange?: (value: string) => void;
  readonly language?: 'json' | 'text';
  readonly readOnly?: boolean;
  readonly minHeight?: number;
}

const theme = EditorView.theme({
  // As high as its host, so that a click anywhere in the box is a click into the text.
  '&': {
    minHeight: 'inherit',
    color: 'var(--text)',
    backgroundColor: 'var(--surface)',
    fontSize: '12.5px',
  },
  '&.cm-focused': { outline: '2px solid var(--focus)', outlineOffset: '1px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '20px' },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { color: 'var(--muted)', backgroundColor: 'var(--sunken)', border: 'none' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--selected) !important',
  },
});

/** CodeMirror's colours are for a light page. On a dark one they are mixed with white, to a contrast of at least 4.5:1. */
const highlighting = HighlightStyle.define(
  defaultHighlightStyle.specs.map((spec) =>
    typeof spec.color === 'string'
      ? { ...spec, color: `light-dark(${spec.color}, color-mix(in srgb, ${spec.color} 40%, white))` }
      : spec,
  ),
);

/**
 * An editor for JSON and templates. Load it when it is opened (`lazy-code-editor.tsx`). It lives in a shadow root: there
 * CodeMirror uses constructed style sheets, while in the page it would add a `<style>`, which the CSP forbids. Tab leaves it.
 */
export default function CodeEditor(props: CodeEditorProps) {
  const { label, value, language = 'text', readOnly = false, minHeight = 120 } = props;
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const editable = useRef(new Compartment());
  const changed = useEffectEvent((text: string) => props.onChange?.(text));

  // biome-ignore lint/correctness/useExhaustiveDependencies: the effects below follow the value and what may be edited.
  useEffect(() => {
    if (host.current === null) return;
    const root = host.current.shadowRoot ?? host.current.attachShadow({ mode: 'open' });
    const editor = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: value,
        extensions: [
          lineNumbers(),
          history(),
          bracketMatching(),
          syntaxHighlighting(highlighting),
          language === 'json' ? json() : [],
          keymap.of([...defaultKeymap, ...historyKeymap]),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ 'aria-label': label }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) changed(update.state.doc.toString());
          }),
          editable.current.of(EditorState.readOnly.of(readOnly)),
          theme,
        ],
      }),
    });
    view.current = editor;
    return () => {
      editor.destroy();
      view.current = null;
    };
  }, [label, language]);

  useEffect(() => {
    const editor = view.current;
    if (editor === null || editor.state.doc.toString() === value) return;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: value } });
  }, [value]);

  useEffect(() => {
    view.current?.dispatch({ effects: editable.current.reconfigure(EditorState.readOnly.of(readOnly)) });
  }, [readOnly]);

  return <div ref={host} className="code-editor" style={{ minHeight }} />;
}
