/**
 * The reader's device in a browser: keeps clicks here, pays before it tells anything, ranks by itself.
 *
 * It needs no other script and asks no other server than the publisher's. What is private lives in one IndexedDB
 * database; what leaves is a release of `releases.js` (a sketch of an epoch, a label of an impression), and each was
 * debited, with the transaction completed, before it was made.
 *
 *     import { openDevice } from "./device/device.js";
 *     const device = await openDevice({ url: "" });
 *     await device.refresh();
 *     const front = await device.front(20);
 *
 * openDevice({url, fetch, random, now, database}) → Promise of a device
 *     url       the server, "" for the page's own origin
 *     fetch     as window.fetch (for tests)
 *     random    count → Uint8Array of that many random bytes (for tests; else crypto.getRandomValues)
 *     now       () → seconds since 1970
 *     database  the name of the IndexedDB database, "discreet"
 *
 * device.model                      what /v1/model said last, or null if it was never reached
 * device.status()                   {online, problem, articles, clicks, stopped}: `problem` is one plain sentence or null;
 *                                   `stopped` says why nothing is released any more (the publisher changed its promise),
 *                                   or null
 * await device.refresh()            fetch model and catalogue (only what is new); offline, keeps what it has → status()
 * device.articles()                 the catalogue: [{id, title, abstract, category, published, topic, base, read}],
 *                                   the best `base` first; `read` is known only here
 * await device.front(limit, {category})
 *                                   → {articles: [{…as above, score, personal}], slate, ranking, personal}: what the page
 *                                   shows, best first, without articles read already. `slate` is the id to hand to
 *                                   `clicked` (null if the ranking was made here alone: nothing is reported then),
 *                                   `ranking` "local", "shortlist" or "server", `score` the whole score and
 *                                   `personal` the part of it that the kept clicks made
 * await device.clicked(id, slate)   remember a click, here; `slate` as `front` gave it, if it was clicked there
 * await device.releaseDue()         make and send what is due: a sketch of each finished epoch, the label of each slate
 *                                   that was followed by another; → [{time, method, url, json, status}] sent just now.
 *                                   What could not be sent is sent next time, the same bytes.
 * device.sent()                     the log of everything that left this device: [{time, method, url, json, status}]
 *                                   (`json` is the exact text of the body, "" for a GET; the latest 500)
 * device.kept()                     what is kept here: {clicks, open, topics: [K counts], categories: {name: count},
 *                                   read: [ids]}
 * device.budget()                   {unit, adjacency, lifetime, worst, purposes: {sketch, label}, debits: […],
 *                                   epochs: [{epoch, epsilon}], user}: `worst` is the most that one click has cost,
 *                                   `purposes` the most one click has paid for each, `user` the bound for all clicks together
 * device.statement()                the same in plain sentences, [string]
 * device.settings()                 {epsilon, openCategories}
 * await device.settings({epsilon, openCategories})
 *                                   `epsilon`: null for the publisher's, or a smaller one. The sketch is then made with
 *                                   min(sketch ε, yours), and reports for training are made only if they still have the
 *                                   publisher's ε: the sketch if yours is at least the sketch's, labels if yours is at
 *                                   least the lifetime's. 0: nothing is released, and ranking is done here alone.
 *                                   `openCategories`: categories whose clicks you do not mind to tell: they are
 *                                   counted exactly and sent in clear. Both apply to later clicks and epochs only.
 * await device.forget()             the history goes, and everything kept from it; the debits stay
 */
