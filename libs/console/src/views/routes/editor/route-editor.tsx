import { useQueryClient } from '@tanstack/react-query';
import { useBlocker, useNavigate } from '@tanstack/react-router';
import { type FormEvent, useId, useMemo, useRef, useState } from 'react';
import { putRoute, type Route, type RoutePreview } from '../../../api/calls/route-calls.ts';
import { Button } from '../../../parts/controls/button.tsx';
import { Confirm } from '../../../parts/dialog/confirm.tsx';
import { Failed, Loading } from '../../../parts/feedback/states.tsx';
import { tell } from '../../../parts/feedback/toasts.tsx';
import type { Problem } from '../../../parts/json-schema/check-value.ts';
import type { JsonSchema, JsonSchemas } from '../../../parts/json-schema/json-schema.ts';
import { SecretDialog } from '../secret-dialog.tsx';
import { TryPanel } from '../try/try-panel.tsx';
import { useRouteSchema } from '../use-route-schema.ts';
import { fieldAt, fieldsOf, problemsOf, settingsOf, type Texts, textsOf } from './route-fields.ts';
import { SettingField } from './setting-field.tsx';

/** The settings of a route made by API, beside what a webhook would do with them. `null`: a new route. */
export function RouteEditor({ route }: { readonly route: Route | null }) {
  const schema = useRouteSchema();
  if (schema.isPending) return <Loading what="the form" />;
  if (schema.isError) return <Failed error={schema.error} retry={() => void schema.refetch()} />;
  return <Editor route={route} {...schema.data} />;
}

interface Props {
  readonly route: Route | null;
  readonly schema: JsonSchema;
  readonly schemas: JsonSchemas;
}

const NAME = /^[a-z0-9][a-z0-9_-]{0,62}$/;

function Editor({ route, schema, schemas }: Props) {
  const fields = useMemo(() => fieldsOf(schema), [schema]);
  const definition = useMemo(
    () => (route === null ? {} : textsOf(fields, route.definition)),
    [fields, route],
  );
  // What was typed. Everything else follows the route, also when somebody else changes it.
  const [typed, setTyped] = useState<Texts>({});
  const [name, setName] = useState(route?.name ?? '');
  // Also opened by a problem inside.
  const [moreOpen, setMoreOpen] = useState(false);
  const [saving, setSaving] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [made, setMade] = useState<{ readonly name: string; readonly secret: string } | null>(null);
  const [preview, setPreview] = useState<RoutePreview | null>(null);
  const queries = useQueryClient();
  const navigate = useNavigate();
  const id = useId();

  const texts: Texts = useMemo(() => ({ ...definition, ...typed }), [definition, typed]);
  const { settings } = useMemo(() => settingsOf(fields, texts), [fields, texts]);
  const own = useMemo(() => problemsOf(fields, texts, schema, schemas), [fields, texts, schema, schemas]);
  const nameIsWrong = route === null && name !== '' && !NAME.test(name);
  // The gateway knows more than the schema: which agents and targets there are, and what a template may say.
  const theirs = (preview?.problems ?? []).filter(
    ({ place }) => !own.some((problem) => fieldAt(problem.place) === fieldAt(place)),
  );
  const problems: readonly Problem[] = [...own, ...theirs];
  const dirty = Object.entries(typed).some(([key, text]) => text !== (definition[key] ?? ''));

  // What was saved may be left, though this render still knows it as typed.
  const saved = useRef(false);
  const blocker = useBlocker({
    shouldBlockFn: () => dirty && !saved.current,
    enableBeforeUnload: () => dirty,
    withResolver: true,
  });

  const save = async (event: FormEvent) => {
    event.preventDefault();
    setSaving(true);
    setError(null);
    try {
      const stored = await putRoute(name, settings, route?.revision ?? null);
      queries.setQueryData(['routes', 'one', name], (before: Route | undefined) => ({
        ...before,
        ...stored,
        secret: undefined,
      }));
      saved.current = true;
      setTyped({});
      void queries.invalidateQueries({ queryKey: ['routes'] });
      if (stored.secret !== undefined) setMade({ name, secret: stored.secret });
      else if (route === null) await navigate({ to: '/routes/$name', params: { name } });
      tell('Saved. It is active on every replica within a second.');
    } catch (refused) {
      setError(refused);
    } finally {
      setSaving(false);
    }
  };
  const show = (main: boolean) =>
    fields
      .filter((field) => field.main === main)
      .map((field) => (
        <SettingField
          key={field.key}
          field={field}
          text={texts[field.key] ?? ''}
          problems={problems.filter(({ place }) => fieldAt(place) === field.key)}
          onChange={(text) => {
            saved.current = false;
            setTyped((before) => ({ ...before, [field.key]: text }));
          }}
        />
      ));
  const others = problems.filter(({ place }) => !fields.some(({ key }) => key === fieldAt(place)));
  return (
    <div className="editor">
      <form className="editor-form" onSubmit={(event) => void save(event)} aria-label="Settings of the route">
        {route === null && (
          <div className="setting">
            <label htmlFor={`${id}-name`}>Name</label>
            <input
              id={`${id}-name`}
              className="field mono"
              required
              autoComplete="off"
              spellCheck={false}
              value={name}
              aria-invalid={nameIsWrong}
              aria-describedby={`${id}-name-hint`}
              onChange={(event) => setName(event.target.value)}
            />
            <p id={`${id}-name-hint`} className={nameIsWrong ? 'form-error' : 'muted'}>
              {nameIsWrong
                ? 'Lower-case letters, digits, - and _, up to 63; a letter or digit first.'
                : `Webhooks go to ${location.origin}/webhooks/${name === '' ? 'name' : name}`}
            </p>
          </div>
        )}
        {show(true)}
        <details
          className="more-settings"
          open={
            moreOpen ||
            problems.some(({ place }) => fields.some(({ key, main }) => !main && key === fieldAt(place)))
          }
          onToggle={(event) => setMoreOpen(event.currentTarget.open)}
        >
          <summary>More settings</summary>
          <div className="editor-form">{show(false)}</div>
        </details>
        {others.map(({ place, message }) => (
          <p key={`${place} ${message}`} className="form-error">
            {place === '' ? message : `${place}: ${message}`}
          </p>
        ))}
        {error !== null && <Failed error={error} />}
        <div className="editor-actions">
          <Button
            kind="main"
            submits
            busy={saving}
            disabled={own.length > 0 || nameIsWrong || name === '' || (route !== null && !dirty)}
          >
            {route === null ? 'Make the route' : 'Save the settings'}
          </Button>
          {dirty && route !== null && <Button onClick={() => setTyped({})}>Undo the changes</Button>}
          <span role="status" className="muted">
            {problems.length > 0 && `${problems.length} ${problems.length === 1 ? 'problem' : 'problems'}`}
          </span>
        </div>
      </form>
      <TryPanel
        name={NAME.test(name) ? name : null}
        settings={settings}
        canSend={route !== null && !dirty && route.status !== 'unusable'}
        cannotSendBecause={
          route === null
            ? 'Make the route first.'
            : 'Save the settings first: a test goes to the saved route.'
        }
        onPreview={setPreview}
      />
      {blocker.status === 'blocked' && (
        <Confirm
          title="Leave without saving?"
          act="Leave, and lose the changes"
          danger
          onClose={blocker.reset}
          run={async () => blocker.proceed()}
        >
          <p>The settings of {name === '' ? 'the new route' : name} are not saved.</p>
        </Confirm>
      )}
      {made !== null && (
        <SecretDialog
          name={made.name}
          secret={made.secret}
          onClose={() => {
            setMade(null);
            void navigate({ to: '/routes/$name', params: { name: made.name } });
          }}
        />
      )}
    </div>
  );
}
