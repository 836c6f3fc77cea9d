/**
 * The first `limit` characters of `JSON.stringify(value, null, 2)`, and only the cost of those. The native function
 * prints everything before it can be cut: indentation turns half a megabyte of nested lists into gigabytes, and it
 * recurses as deep as the payload is nested. Here every level writes before it goes deeper, so the limit also bounds
 * the depth.
 */
export function indentedJson(value: unknown, limit: number): string {
  const output: Output = { text: '', limit };
  write(output, value, '\n');
  return truncate(output.text, limit);
}

/** At most `limit` UTF-16 units. The cut never splits a surrogate pair, because Postgres cannot store half of one. */
export function truncate(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const last = text.charCodeAt(limit - 1);
  const splitsPair = last >= 0xd800 && last <= 0xdbff;
  return text.slice(0, splitsPair ? limit - 1 : limit);
}

interface Output {
  text: string;
  readonly limit: number;
}

function write(output: Output, value: unknown, newline: string): void {
  if (output.text.length > output.limit) return;
  if (typeof value === 'string') {
    // The part that is cut here lies beyond the limit: escaping makes a text longer, never shorter.
    output.text += JSON.stringify(value.length > output.limit ? value.slice(0, output.limit) : value);
  } else if (typeof value !== 'object' || value === null || JSON.isRawJSON(value)) {
    output.text += JSON.stringify(value);
  } else if (Array.isArray(value)) {
    writeItems(output, value, newline);
  } else {
    writeProperties(output, value as Record<string, unknown>, newline);
  }
}

function writeItems(output: Output, items: readonly unknown[], newline: string): void {
  if (items.length === 0) {
    output.text += '[]';
    return;
  }
  const inner = `${newline}  `;
  output.text += '[';
  for (let i = 0; i < items.length; i += 1) {
    output.text += i === 0 ? inner : `,${inner}`;
    write(output, items[i], inner);
    if (output.text.length > output.limit) return;
  }
  output.text += `${newline}]`;
}

function writeProperties(output: Output, object: Readonly<Record<string, unknown>>, newline: string): void {
  const keys = Object.keys(object);
  if (keys.length === 0) {
    output.text += '{}';
    return;
  }
  const inner = `${newline}  `;
  let lead = '{';
  for (const key of keys) {
    output.text += `${lead}${inner}${JSON.stringify(key)}: `;
    lead = ',';
    write(output, object[key], inner);
    if (output.text.length > output.limit) return;
  }
  output.text += `${newline}}`;
}
