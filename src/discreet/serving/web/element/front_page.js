/**
 * <discreet-front-page server="https://news.example" helper="https://helper.example">: a list of articles that the reader's
 * own device ranks, for any page.
 *
 * Attributes: `server` (the address of `discreet serve`), `helper` (the second aggregators that this page trusts, with
 * spaces between; without one the device takes part in no sum), `limit` (articles at first, 12), `category` (one section
 * alone), `heading` ("For you"; empty for none), `current` (the address of the article that is open here and is not shown; the
 * page's own, if it says nothing), and the limits of the first places: `places`, `max-of-section`, `min-new`,
 * `new-share` (device/first_page.js).
 *
 * It looks like the page around it: fonts are inherited, colours are the custom properties of style.js, and every part can
 * be styled with ::part(). Articles are real links. An article that is opened fires `discreet-open` with {article}, which can
 * be cancelled; `discreet-ready` says that the list is there.
 */

import { serverAddress } from "../device/connection.js";
import { openDevice } from "../device/device.js";
import { arrange, make, renewed } from "../page/dom.js";
import { inPlace } from "../page/in_place.js";
import { liftedArticles } from "../page/lifted.js";
import { asksNothing, count, sectionName } from "../page/words.js";
import { privacyPanel, showPrivacy } from "./privacy.js";
import { styleSheet } from "./style.js";

const LIMITS = { places: "places", maxOfSection: "max-of-section", minNew: "min-new", newShare: "new-share" };
const FIRST = 12, MAX_ARTICLES = 200, TIMEOUT = 1000;

export class DiscreetFrontPage extends (globalThis.HTMLElement ?? Object) {
  device = null;
  sums = null;
  #front = null;
  #unfollow = null;
  #shown = FIRST;
  #timer = null;
  #nodes = null;

  connectedCallback() {
    this.#build();
    this.#shown = Number(this.getAttribute("limit")) || FIRST;
    this.#open().catch((error) => this.#say(`The articles cannot be shown: ${error.message}.`));
  }

  disconnectedCallback() {
    clearInterval(this.#timer);
    this.#unfollow?.();
  }

  /** Rank again with the clicks since, here. */
  render() {
    const { device } = this;
    device.current = this.getAttribute("current");
    if (!device.model) return this.#say(device.status().problem ?? "The articles are on their way.");
    this.#front = this.#ranked(MAX_ARTICLES);
    this.#show(this.#front.articles, false);
  }

  /** Something came or went. What is shown stays where it is; what is gone leaves; what came waits until the reader asks. */
  #renewed() {
    const shown = [...this.#nodes.list.children].map((item) => item.dataset.article);
    if (!this.device.model || !shown.length) return this.#refreshed();
    const front = this.#ranked(Infinity), { articles, isNew } = inPlace(shown, front.articles);
    this.#front = { ...front, articles: articles.slice(0, MAX_ARTICLES) };
    this.#show(front.articles, isNew);
    return this.#showPrivacy();
  }

  #ranked(limit) {
    const { category, device } = this;
    return category || !this.#front || this.#front.ranking === "local" ? device.here(limit, { category }) : device.again(this.#front);
  }

  /** Show the front. Marks follow from the ranking, whatever the places. */
  #show(ranked, isNew) {
    const { articles } = this.#front, { list, more, newer } = this.#nodes;
    this.#say(articles.length ? "" : "There is nothing here that you have not read.");
    const lifted = liftedArticles(ranked.slice(0, MAX_ARTICLES)), present = new Map([...list.children].map((item) => [item.dataset.article, item]));
    const items = articles.slice(0, this.#shown).map((article) => this.#item(article, lifted.has(article.id)));
    arrange(list, items.map((item) => (present.has(item.dataset.article) ? renewed(present.get(item.dataset.article), item) : item)));
    more.hidden = articles.length <= this.#shown;
    newer.hidden = !isNew;
  }

  get category() {
    return this.getAttribute("category") || null;
  }

  async #open() {
    const server = serverAddress(this.getAttribute("server"));
    const helpers = (this.getAttribute("helper") ?? "").split(/\s+/).filter(Boolean);
    const limits = Object.entries(LIMITS).filter(([, attribute]) => this.hasAttribute(attribute));
    const firstPage = Object.fromEntries(limits.map(([name, attribute]) => [name, Number(this.getAttribute(attribute))]));
    this.device = await openDevice({ url: server, firstPage });
    this.sums = helpers.length ? await this.device.takePart({ helpers }) : null;
    this.device.onchange = () => this.#refreshed();
    this.#nodes.panel.notice.href = `${server}/notice`;
    await this.device.refresh();
    if (this.device.model) this.render();
    await this.device.complete();
    if (this.device.model && !this.category) this.#front = await this.device.front(MAX_ARTICLES);
    this.#refreshed();
    if (!this.isConnected) return;
    this.#unfollow = this.device.follow(() => this.#renewed());
    this.#timer = setInterval(() => this.#tick().catch(() => {}), 1000);
    await this.#tick();
    if (this.device.model && !asksNothing(this.device.model)) await this.device.releaseDue();
    this.dispatchEvent(new CustomEvent("discreet-ready", { bubbles: true, composed: true }));
  }

  async #tick() {
    if (await this.sums?.tick()) this.#showPrivacy();
  }

  #refreshed() {
    this.render();
    this.#showPrivacy();
  }

  #showPrivacy() {
    return showPrivacy(this.#nodes.panel, this.device, this.sums);
  }

  /** The click is kept before the page goes away; the browser opens new tabs and windows by itself. */
  async #opened(event, article) {
    const isPlain = event.button === 0 && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);
    const goesOn = this.dispatchEvent(new CustomEvent("discreet-open", { bubbles: true, composed: true, cancelable: true, detail: { article } }));
    if (isPlain || !goesOn) event.preventDefault();
    const kept = this.device.clicked(article.id, this.category ? null : this.#front.slate);
    await Promise.race([kept, new Promise((resolve) => setTimeout(resolve, TIMEOUT))]);
    if (isPlain && goesOn && article.url) return location.assign(article.url);
    const focused = this.#places().indexOf(this.shadowRoot.activeElement);
    this.#refreshed();
    if (focused >= 0) this.#places()[Math.min(focused, this.#places().length - 1)]?.focus();
  }

  #places() {
    return [...this.#nodes.list.querySelectorAll("a")];
  }

  #item(article, isLifted) {
    const { title, abstract, category, url } = article;
    const open = (event) => (event.button > 1 ? null : this.#opened(event, article));
    const link = make("a", { part: "link", href: url || "#", onclick: open, onauxclick: open }, title || "Untitled");
    const lifted = isLifted ? [make("span", { part: "lifted" }, "for you")] : [];
    return make("li", { part: "article", "data-article": article.id },
      make("p", { part: "kicker" }, sectionName(category), ...lifted),
      make("h3", { part: "title" }, link),
      ...(abstract ? [make("p", { part: "abstract" }, abstract)] : []));
  }

  #build() {
    const root = this.shadowRoot ?? this.attachShadow({ mode: "open" });
    const heading = this.getAttribute("heading") ?? "For you";
    const list = make("ol", { part: "articles", role: "list" }), status = make("p", { part: "status", role: "status" }, "Fetching the articles …");
    const more = make("button", { part: "more", type: "button", hidden: true, onclick: () => this.#more() }, "More");
    const newer = make("button", { part: "newer", type: "button", hidden: true, onclick: () => this.#showNew() }, "Show what is new");
    const panel = privacyPanel({ stop: () => this.#stop(), forget: () => this.#forget() });
    const title = heading ? [make("h2", { part: "heading", id: "heading" }, heading)] : [];
    const named = heading ? { "aria-labelledby": "heading" } : { "aria-label": "Articles for you" };
    root.adoptedStyleSheets = [styleSheet()];
    root.replaceChildren(make("section", { part: "section", ...named }, ...title, status, make("div", { class: "newer" }, newer), list, more, panel.details));
    this.#nodes = { list, status, more, newer, panel };
  }

  #more() {
    const before = this.#shown;
    this.#shown += FIRST;
    this.render();
    this.#places()[before]?.focus();
  }

  #showNew() {
    this.render();
    this.scrollIntoView({ block: "nearest" });
    this.#places()[0]?.focus({ preventScroll: true });
  }

  async #stop() {
    await (this.sums.isStopped ? this.sums.resume() : this.sums.stop());
    await this.sums.tick();
    await this.#showPrivacy();
  }

  async #forget() {
    await this.device.forget();
    await this.device.refresh();
    await this.device.complete();
    this.#front = null;
    this.#refreshed();
    this.#say(`Forgotten. ${count(this.device.kept().clicks, "click is", "clicks are")} kept here now.`);
  }

  #say(words) {
    const { status } = this.#nodes;
    status.hidden = !words;
    if (status.textContent !== words) status.textContent = words;
  }
}
