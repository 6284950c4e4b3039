/** Articles in the places where they are shown, so that nothing moves under the reader's eyes. */

/**
 * Of a new ranking those first that are shown (their ids), in their places, and then the others, the best first. `isNew`: the
 * ranking has another article among as many.
 */
export function inPlace(shown, ranked) {
  const listed = new Map(ranked.map((article) => [article.id, article])), isShown = new Set(shown);
  const stay = shown.filter((id) => listed.has(id)).map((id) => listed.get(id));
  const articles = [...stay, ...ranked.filter(({ id }) => !isShown.has(id))];
  const seen = new Set(articles.slice(0, shown.length).map(({ id }) => id));
  return { articles, isNew: ranked.slice(0, shown.length).some(({ id }) => !seen.has(id)) };
}
