/** What the scores of shown articles are made of, as a view keeps it: the twin of `shown_features` in `edge/reader/local_ranking.py`. */

import { headFeatures, historyFeatures } from "./personal.js";

export const FEATURES = ["mean", "nearest", "category", "recency", "subcategory", "popularity"];
const MAX_FEATURE = 1e6;

/** A row for each article. Recency and popularity come from its base score; a feature without a weight is 0. What each direction of a head adds comes last. */
export function shownFeatures(articles, history, terms) {
  const [mean, nearest, category, subcategory] = historyFeatures(articles, history, terms);
  const { recency = 0, popularity = 0 } = terms.weights, head = headFeatures(articles, history, terms);
  return articles.map((article, place) => {
    const rate = article.popularity ?? 0, age = recency ? (article.base - rate) / recency : 0;
    return [mean[place], nearest[place], category[place], age, subcategory[place], popularity ? rate / popularity : 0, ...head[place]].map(bounded);
  });
}

function bounded(value) {
  return Number.isNaN(value) ? 0 : Math.max(-MAX_FEATURE, Math.min(MAX_FEATURE, value)) + 0;
}
