import { Dialog } from '../../parts/dialog/dialog.tsx';
import { setPreferences, usePreferences } from '../preferences/preferences.ts';

const KEYS: readonly (readonly [keys: readonly string[], does: string])[] = [
  [['/'], 'search'],
  [['j', 'k'], 'next and previous row'],
  [['Enter'], 'open the row'],
  [['x'], 'select the row'],
  [['r'], 'retry the row, or all that are selected: resume a session, send a delivery again'],
  [['Ctrl', 'K'], 'command palette'],
  [['?'], 'this help'],
  [['Esc'], 'close a dialog or details, clear a selection'],
];

export function KeyboardHelp({ onClose }: { readonly onClose: () => void }) {
  const { shortcuts } = usePreferences();
  return (
    <Dialog title="Keyboard" onClose={onClose}>
      <table className="keys">
        <tbody>
          {KEYS.map(([keys, does]) => (
            <tr key={does}>
              <th scope="row">
                {keys.map((key) => (
                  <kbd key={key}>{key}</kbd>
                ))}
              </th>
              <td>{does}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <label className="check">
        <input
          type="checkbox"
          checked={shortcuts}
          onChange={(event) => setPreferences({ shortcuts: event.target.checked })}
        />
        Single keys act as commands
      </label>
    </Dialog>
  );
}
