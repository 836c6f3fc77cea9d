import { truncate } from './truncate.ts';

/**
 * The first `limit` characters of `JSON.stringify(value, null, 2)`, at the cost of those alone. The native one prints
 * everything before it can be cut: indentation makes half a megabyte of nested lists into gigabytes, and it recurses
 * as deep as the payload does. Here every level writes before it goes deeper, so that the limit also bounds the depth.
 */
export function jsonBlock(value: unknown, limit: number): string {
  const block: Block = { text: '', limit };
  write(block, value, '\n');
  return truncate(block.text, limit);
}

interface Block {
  text: string;
  readonly limit: number;
}

function write(block: Block, value: unknown, newline: string): void {
  if (block.text.length > block.limit) return;
  if (typeof value === 'string') {
    // What is cut off here lies behind the limit: escaping makes a text longer, never shorter.
    block.text += JSON.stringify(value.length > block.limit ? value.slice(0, block.limit) : value);
  } else if (typeof value !== 'object' || value === null || JSON.isRawJSON(value)) {
    block.text += JSON.stringify(value);
  } else if (Array.isArray(value)) {
    writeItems(block, value, newline);
  } else {
    writeProperties(block, value as Record<string, unknown>, newline);
  }
}

function writeItems(block: Block, items: readonly unknown[], newline: string): void {
  if (items.length === 0) {
    block.text += '[]';
    return;
  }
  const inner = `${newline}  `;
  block.text += '[';
  for (let i = 0; i < items.length; i += 1) {
    block.text += i === 0 ? inner : `,${inner}`;
    write(block, items[i], inner);
    if (block.text.length > block.limit) return;
  }
  block.text += `${newline}]`;
}

function writeProperties(block: Block, object: Readonly<Record<string, unknown>>, newline: string): void {
  const keys = Object.keys(object);
  if (keys.length === 0) {
    block.text += '{}';
    return;
  }
  const inner = `${newline}  `;
  let lead = '{';
  for (const key of keys) {
    block.text += `${lead}${inner}${JSON.stringify(key)}: `;
    lead = ',';
    write(block, object[key], inner);
    if (block.text.length > block.limit) return;
  }
  block.text += `${newline}}`;
}
