// The content security policy of the page allows neither inline scripts nor inline styles. A page that has some would not work.

/**
 * What of a page the policy forbids.
 * @param {string} html
 * @returns {string[]}
 */
export function inlineCode(html) {
  return [
    ...(html.match(/<script(?![^>]*\ssrc=)[^>]*>/gi) ?? []),
    ...(html.match(/<style\b[^>]*>/gi) ?? []),
    ...(html.match(/<[^>]+\s(?:style|on[a-z]+)\s*=[^>]*>/gi) ?? []),
  ];
}
