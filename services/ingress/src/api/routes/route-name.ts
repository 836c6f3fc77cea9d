import { routeName } from '../../http/parse-request.ts';
import { Refusal } from '../../http/refusal.ts';

/** @throws Refusal 400 */
export function checkedName(name: string): string {
  const parsed = routeName.safeParse(name);
  if (parsed.success) return parsed.data;
  throw new Refusal(
    400,
    'bad_route_name',
    'this is not the name of a route: use lower-case letters, digits, - and _, at most 63, and start with a letter or digit',
  );
}
