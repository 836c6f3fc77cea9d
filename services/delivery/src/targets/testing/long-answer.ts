/** More than 10,000 characters of everything that easily breaks when a text is cut and rewritten. */
export function longAnswer(): string {
  const parts: string[] = ['# A long answer'];
  for (let part = 1; parts.join('\n\n').length < 10_500; part += 1) {
    parts.push(
      `Part ${part}: **bold ${part}**, *slanted ${part}* and \`code ${part}\` in one line. ${sentence(part, 12)}`,
      // Families, flags, skin tones and accents are several code points each, but one character to a person.
      `Emoji ${part}: ${'👨‍👩‍👧‍👦🇩🇪👍🏽é🏳️‍🌈'.repeat(6)}`,
      `שורה ${part}: ${'שלום עולם '.repeat(8).trim()}. ${'مرحبا بالعالم '.repeat(6).trim()}.`,
      `\`\`\`ts\n${codeLines(part)}\n\`\`\``,
      `- first ${part}\n- second ${part}\n- third ${part}`,
    );
  }
  // A paragraph with no good position for a cut.
  parts.push('x'.repeat(700), `\`\`\`\n${'long line '.repeat(120).trim()}\n\`\`\``, 'The end.');
  return parts.join('\n\n');
}

function sentence(seed: number, words: number): string {
  return `${Array.from({ length: words }, (_, index) => `word${seed}x${index}`).join(' ')}.`;
}

function codeLines(seed: number): string {
  return Array.from(
    { length: 8 },
    (_, index) => `  const value${seed}x${index} = { "a": [${index}], b: '<&>' }; // ${'="\'\\'.repeat(2)}`,
  ).join('\n');
}

/** The content of a text: without fences, numbering, style marks, white space and invisible characters. */
export function readable(text: string): string {
  return text
    .replaceAll(/^\s*`{3,}.*$/gm, '')
    .replace(/\s*\(\d+\/\d+\)\s*$/, '')
    .replaceAll(/[`*_~#>•\-\s\u200b\u2060]/gu, '');
}
