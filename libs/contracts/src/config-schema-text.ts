import { configJsonSchema } from './config.ts';

/** The JSON Schema file as it is committed. */
export function configSchemaText(): string {
  return `${JSON.stringify(configJsonSchema(), null, 2)}\n`;
}
