import type { Route } from '../../api/calls/route-calls.ts';
import { CopyButton } from '../../parts/controls/copy-button.tsx';
import { Failed, Loading } from '../../parts/feedback/states.tsx';
import { ScrollBox } from '../../parts/text/scroll-box.tsx';
import { visibleText } from '../../parts/text/visible-text.ts';
import { routeYaml } from './route-yaml.ts';
import { useRouteSchema } from './use-route-schema.ts';

/** The route as the config file has it, or would have it. */
export function RouteYaml({ route }: { readonly route: Route }) {
  const schema = useRouteSchema();
  if (schema.isPending) return <Loading what="the settings" />;
  if (schema.isError) return <Failed error={schema.error} retry={() => void schema.refetch()} />;
  const yaml = routeYaml(route.name, route.definition, schema.data.schema);
  return (
    <div className="stack">
      <p>
        {route.source === 'config'
          ? 'This route is in the config file, and only there it can be changed. Copy it, change it, paste it over the old one, and save: the services read the file by themselves.'
          : 'To keep this route in the config file, paste this there, set its secret, and delete the route here.'}
      </p>
      <figure className="code-block">
        <figcaption>
          <span className="muted">YAML</span>
          <CopyButton text={yaml} of="the YAML" />
        </figcaption>
        <ScrollBox label="YAML of the route">{visibleText(yaml)}</ScrollBox>
      </figure>
    </div>
  );
}
