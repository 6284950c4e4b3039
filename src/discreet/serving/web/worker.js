/**
 * Keeps the page itself for when there is no connection. Only the page's own files, the same for every reader: what the
 * device asks of the server never passes through here.
 */

const SHELL = "discreet shell";
/* The server adds every file of the page. */
const FILES = ["/"];

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
