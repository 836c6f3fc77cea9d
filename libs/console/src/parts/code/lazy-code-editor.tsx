import { lazy, Suspense } from 'react';
import { Loading } from '../feedback/states.tsx';
import type { CodeEditorProps } from './code-editor.tsx';

const CodeEditor = lazy(() => import('./code-editor.tsx'));

/** The editor, loaded when it is first shown. */
export function LazyCodeEditor(props: CodeEditorProps) {
  return (
    <Suspense fallback={<Loading what="the editor" />}>
      <CodeEditor {...props} />
    </Suspense>
  );
}
