/** The server: whatever leaves this device leaves through `ask`, and is written to the log that the reader can see. */

import { answer } from "./storage.js";

const LOGGED = 500;

export class Connection {
  online = false;
  problem = null;
  sent = [];
  #url;
  #fetch;
  #now;
  #storage;

  constructor(url, fetch, now, storage) {
    this.#url = url.replace(/\/$/, "");
    this.#fetch = fetch;
    this.#now = now;
    this.#storage = storage;
  }

  async load() {
    this.sent = await this.#storage.all("sent");
  }

  /** The server's reply, {status, etag, text}, or null if there was none. */
  async ask(method, path, body = null, etag = "") {
    const headers = body === null ? {} : { "Content-Type": "application/json" };
    if (etag) headers["If-None-Match"] = etag;
    const entry = { time: Math.floor(this.#now()), method, url: this.#url + path, json: body ?? "", status: null };
    let reply = null;
    try {
      const options = { method, headers, credentials: "omit", referrerPolicy: "no-referrer", cache: "no-store" };
      const response = await this.#fetch(entry.url, body === null ? options : { ...options, body });
      reply = { status: response.status, etag: response.headers.get("ETag") ?? "", text: await response.text() };
      entry.status = reply.status;
      this.online = true;
      this.problem = reply.status < 400 ? null : `${path.split("?")[0]}: ${reply.status}, ${reason(reply.text)}`;
    } catch (error) {
      this.online = false;
      this.problem = `the server cannot be reached (${error.message}); working with what is here`;
    }
    await this.#log(entry);
    return reply;
  }

  async #log(entry) {
    entry.number = await this.#storage.add("sent", entry);
    this.sent.push(entry);
    if (this.sent.length > LOGGED) {
      const { number } = this.sent.shift();
      await this.#storage.transaction(["sent"], "readwrite", ({ sent }) => answer(sent.delete(number)));
    }
  }
}

function reason(text) {
  try {
    return String(JSON.parse(text).error ?? "no reason given");
  } catch {
    return "no reason given";
  }
}
