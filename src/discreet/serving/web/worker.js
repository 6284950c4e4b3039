/**
 * Keeps the page itself for when there is no connection. Only the page's own files, the same for every reader: what the
 * device asks of the server never passes through here.
 */

const SHELL = "discreet shell";
const FILES = [
  "/", "/web/device/catalogue.js", "/web/device/check.js", "/web/device/clicks.js", "/web/device/connection.js",
  "/web/device/device.js", "/web/device/exact.js", "/web/device/ledger.js", "/web/device/memory.js",
  "/web/device/nearest.js", "/web/device/noise.js", "/web/device/personal.js", "/web/device/ranking.js", "/web/device/releases.js", "/web/device/reports.js",
  "/web/device/schema.js", "/web/device/sha256.js", "/web/device/sketches.js", "/web/device/slates.js",
  "/web/device/statement.js", "/web/device/storage.js", "/web/device/tabs.js", "/web/device/telling.js",
  "/web/device/terms.js", "/web/icons/icon.svg", "/web/page.css", "/web/page.js", "/web/page/choices.js",
  "/web/page/dom.js", "/web/page/news.js", "/web/page/panel.css", "/web/page/panel.js", "/web/page/picture.js",
  "/web/page/reader.js", "/web/page/shown.js", "/web/page/words.js",
];

self.addEventListener("install", (event) => {
  self.skipWaiting();
  event.waitUntil(caches.open(SHELL).then((cache) => cache.addAll(FILES)));
});

self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("fetch", (event) => {
  const { pathname, origin } = new URL(event.request.url);
  if (event.request.method === "GET" && origin === self.location.origin && FILES.includes(pathname)) event.respondWith(fetched(event.request, pathname));
});

/** From the server, and kept; without a connection, what was kept. */
async function fetched(request, name) {
  const cache = await caches.open(SHELL);
  try {
    const answer = await fetch(request);
    if (answer.ok) await cache.put(name, answer.clone());
    return answer;
  } catch (error) {
    const kept = await cache.match(name);
    if (kept) return kept;
    throw error;
  }
}
