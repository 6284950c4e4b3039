/** Other tabs of the same reader: they share the database, and are told when something in it has changed. */

export class Tabs {
  #channel = null;

  /** `heard(what)` is called when another tab tells something: "changed" or "forgotten". */
  constructor(name, heard) {
    if (name === null || !globalThis.BroadcastChannel) return;
    this.#channel = new BroadcastChannel(`discreet ${name}`);
    this.#channel.onmessage = ({ data }) => heard(data);
  }

  tell(what) {
    this.#channel?.postMessage(what);
  }
}
