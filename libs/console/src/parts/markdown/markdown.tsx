import { Fragment, type ReactNode, useMemo } from 'react';
import { CopyButton } from '../controls/copy-button.tsx';
import { ScrollBox } from '../text/scroll-box.tsx';
import { LongText } from '../text/text.tsx';
import { type SafeNode, safeMarkdown } from './safe-markdown.ts';

/** Markdown of strangers, such as an answer of a model. */
export function Markdown({ text, label = 'Text' }: { readonly text: string; readonly label?: string }) {
  const nodes = useMemo(() => safeMarkdown(text), [text]);
  if (nodes === null) return <LongText text={text} label={label} />;
  return (
    <div className="markdown untrusted" dir="auto">
      {shown(nodes)}
    </div>
  );
}

/** A link to a place outside. It gets neither our address nor our window. */
export function ForeignLink({ href, children }: { readonly href: string; readonly children: ReactNode }) {
  return (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow" referrerPolicy="no-referrer">
      {children}
    </a>
  );
}

function shown(nodes: readonly SafeNode[]): ReactNode {
  // The nodes of a text never change their order: their place is their key.
  // biome-ignore lint/suspicious/noArrayIndexKey: see above.
  return nodes.map((node, index) => <Fragment key={index}>{element(node)}</Fragment>);
}

function element(node: SafeNode): ReactNode {
  switch (node.kind) {
    case 'text':
      return node.text;
    case 'code':
      return <code>{node.text}</code>;
    case 'break':
      return <br />;
    case 'rule':
      return <hr />;
    case 'block':
      return <CodeBlock text={node.text} language={node.language} />;
    case 'link':
      return <ForeignLink href={node.href}>{shown(node.children)}</ForeignLink>;
    case 'image': {
      const text = `[image: ${node.text === '' ? 'without a description' : node.text}]`;
      return node.href === null ? text : <ForeignLink href={node.href}>{text}</ForeignLink>;
    }
    case 'strong':
      return <strong>{shown(node.children)}</strong>;
    case 'em':
      return <em>{shown(node.children)}</em>;
    case 'del':
      return <del>{shown(node.children)}</del>;
    case 'paragraph':
      return <p>{shown(node.children)}</p>;
    case 'quote':
      return <blockquote>{shown(node.children)}</blockquote>;
    case 'heading':
      // Not a heading of the page: the outline of a model's text is not ours.
      return (
        <p className={`markdown-heading markdown-heading-${Math.min(node.level, 4)}`}>
          {shown(node.children)}
        </p>
      );
    case 'list':
      return <List node={node} />;
    case 'table':
      return <Table node={node} />;
  }
}

function List({ node }: { readonly node: SafeNode & { kind: 'list' } }) {
  const items = node.items.map(({ checked, children }, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the items of a text never change their order.
    <li key={index}>
      {checked !== null && <span>{checked ? '☑ ' : '☐ '}</span>}
      {shown(children)}
    </li>
  ));
  return node.start === null ? <ul>{items}</ul> : <ol start={node.start}>{items}</ol>;
}

function Table({ node }: { readonly node: SafeNode & { kind: 'table' } }) {
  return (
    <div className="markdown-table">
      <table>
        <thead>
          <tr>
            {node.header.map((cell, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the cells of a text never change their order.
              <th key={index} scope="col">
                {shown(cell)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {node.rows.map((row, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: as above.
            <tr key={index}>
              {row.map((cell, column) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: as above.
                <td key={column}>{shown(cell)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function CodeBlock({ text, language }: { readonly text: string; readonly language: string }) {
  return (
    <figure className="code-block">
      <figcaption>
        <span className="muted">{language}</span>
        <CopyButton text={text} of="the code" />
      </figcaption>
      <ScrollBox label={language === '' ? 'Code' : `Code, ${language}`}>{text}</ScrollBox>
    </figure>
  );
}
