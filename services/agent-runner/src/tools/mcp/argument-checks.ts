import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';

type Check = (args: unknown) => string | null;

/**
 * Checks arguments against the schemas of one list of tools, which are compiled on first use. Each list has its own
 * validator: a validator keeps every schema that it saw, and lists are read again and again.
 */
export function argumentChecks(): (schema: object) => Check {
  const validator = new AjvJsonSchemaValidator();
  return (schema) => {
    let compiled: Check | null = null;
    return (args) => {
      if (typeof args !== 'object' || args === null || Array.isArray(args)) return 'an object is wanted';
      compiled ??= compile(validator, schema);
      return compiled(args);
    };
  };
}

function compile(validator: AjvJsonSchemaValidator, schema: object): Check {
  try {
    const validate = validator.getValidator(schema);
    return (args) => {
      const checked = validate(args);
      return checked.valid ? null : (checked.errorMessage ?? 'they do not fit the schema');
    };
  } catch {
    // A schema that cannot be compiled is the server's fault, and the server still checks the arguments itself.
    return () => null;
  }
}
