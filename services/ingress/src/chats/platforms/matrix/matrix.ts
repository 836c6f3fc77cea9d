import type { ChatPlatform } from '../../platform.ts';
import { fetchBytes } from '../call-json.ts';
import { runSync } from './sync.ts';

/** A user of a homeserver. It has no buttons: the choices of a question are numbered, and a reply names one. */
export const matrix: ChatPlatform = {
  name: 'matrix',

  chatOf: ({ room_id: room }) => (typeof room === 'string' && room.startsWith('!') ? room : null),
  addressOf: (chat) => ({ room_id: chat }),

  connection: { account: ({ chat }) => String(chat.user_id), run: runSync },

  async fetchFile({ id }, mostBytes, { settings, signal }) {
    const [, server, media] = /^mxc:\/\/([^/?#]+)\/([A-Za-z0-9_=-]+)$/.exec(id) ?? [];
    if (server === undefined || media === undefined)
      throw new Error('this is not the address of a file in Matrix');
    const { api_base: base, access_token: token } = settings.target;
    return fetchBytes({
      what: 'the homeserver refused a file',
      url: `${String(base)}/_matrix/client/v1/media/download/${encodeURIComponent(server)}/${media}`,
      headers: { authorization: `Bearer ${String(token)}` },
      mostBytes,
      signal,
    });
  },
};
