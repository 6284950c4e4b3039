/**
 * An answer that is asked for again and again. The device names the digest of what it holds, and gets no body if that is all.
 *
 * The digest is kept in memory alone: it says no more than that this open page has asked before.
 */

import { sha256 } from "./sha256.js";

export class Polled {
  #path;
  #digest = null;

  constructor(path) {
    this.#path = path;
  }

  /** The bytes, if they are not those that are held; else null. */
  async ask(server, isAnew = false) {
    const reply = await server.ask("GET", this.#path + (this.#digest && !isAnew ? `?holds=${this.#digest}` : ""));
    return reply?.status === 200 ? reply.bytes : null;
  }

  /** What came was understood, and is used from now on. */
  hold(bytes) {
    this.#digest = sha256(bytes);
  }

  drop() {
    this.#digest = null;
  }
}
