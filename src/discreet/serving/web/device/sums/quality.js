/**
 * How good the device's own ranking was in a window: five whole numbers, of what it showed and what was clicked. The twin of
 * `edge/reader/sums/view_quality.py`, which has the theorem; all arithmetic is in whole numbers.
 */

import { nothing } from "./task.js";

export const METRICS = ["AUC", "1-AUC", "nDCG@10", "click", "no click"];
const TOP = 10, GAINS = [1000000, 630930, 500000, 430677, 386853, 356207, 333333, 315465, 301030, 289065];

/** The values of a window, from views {arm, clicked: [boolean]}; zeros where nothing was shown, or the arm has no cells. */
export function rankingQuality(task, { views, places }, left) {
  const values = nothing(task), largest = task.max_value;
  if (!views.length || left < 3 * largest) return values;
  const { arm } = views.at(-1);
  const found = measured(views.filter((view) => view.arm === arm).map((view) => view.clicked), largest);
  METRICS.forEach((metric, i) => {
    const place = places.get(`${arm} ${metric}`) ?? -1;
    if (place >= 0 && place < task.length) values[place] = found[i];
  });
  return values;
}

/** The views of a time with what was clicked in them; a click counts in the latest view that had its article. */
export function clickedViews(views, clicks, begin, end) {
  const inside = ({ time }) => time >= begin && time < end;
  const shown = views.filter(inside).map((view) => ({ ...view, mine: new Set() }));
  for (const { time, article } of clicks.filter(inside)) {
    shown.findLast((view) => view.time <= time && view.articles.includes(article))?.mine.add(article);
  }
  return shown.map(({ arm, articles, features = [], mine }) => ({ arm, clicked: articles.map((article) => mine.has(article)), features }));
}

function measured(views, largest) {
  const judged = views.filter((view) => view.includes(true) && view.includes(false));
  const clicked = rounded(largest * views.filter((view) => view.slice(0, TOP).includes(true)).length, views.length);
  if (!judged.length) return [0, 0, 0, clicked, largest - clicked];
  const mean = (metric) => rounded(judged.reduce((sum, view) => sum + metric(view, largest), 0), judged.length);
  const a = mean(auc);
  return [a, largest - a, mean(ndcg), clicked, largest - clicked];
}

function auc(view, largest) {
  const clicks = count(view), others = view.length - clicks;
  let above = 0, won = 0;
  for (const isClicked of view) {
    if (isClicked) won += others - above;
    else above++;
  }
  return rounded(largest * won, clicks * others);
}

function ndcg(view, largest) {
  const sum = (gains) => gains.reduce((total, gain) => total + gain, 0);
  return rounded(largest * sum(GAINS.filter((_, place) => view[place])), sum(GAINS.slice(0, count(view))));
}

function count(view) {
  return view.filter(Boolean).length;
}

/** above / below, half up, in whole numbers below 2^53. */
function rounded(above, below) {
  const twice = 2 * above + below;
  return (twice - (twice % (2 * below))) / (2 * below);
}
