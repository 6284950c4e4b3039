/** Which articles to mark as lifted by what was read. */

const MARKED = 6;

/** The ids of the few articles that the kept clicks speak for most, if these moved them up. */
export function liftedArticles(articles) {
  const base = [...articles].sort((a, b) => b.score - b.personal - (a.score - a.personal));
  const before = new Map(base.map((article, place) => [article.id, place]));
  const risen = articles.filter((article, place) => article.personal > 0 && place < before.get(article.id));
  return new Set(risen.sort((a, b) => b.personal - a.personal).slice(0, MARKED).map((article) => article.id));
}
