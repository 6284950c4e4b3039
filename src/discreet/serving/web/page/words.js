/** How the page names and counts things. */

const SECTIONS = {
  foodanddrink: "Food & drink", tv: "Television", news: "News", autos: "Motoring", movies: "Film", kids: "Children",
  middleeast: "Middle East", northamerica: "North America",
};

/** A category as people write it: FOOTBALL_PRO is "Football pro", and TV stays. */
export function sectionName(category) {
  const words = (category ?? "").replace(/[_\s]+/g, " ").trim();
  if (!words) return "Other";
  const isShouted = words.length > 4 && words === words.toUpperCase();
  const plain = isShouted ? words.toLowerCase() : words;
  return Object.hasOwn(SECTIONS, category) ? SECTIONS[category] : plain[0].toUpperCase() + plain.slice(1);
}

export function isoDay(seconds) {
  return new Date(seconds * 1000).toISOString().slice(0, 10);
}

export function dayOf(seconds) {
  if (!(seconds > 0)) return "";
  return new Date(seconds * 1000).toLocaleDateString("en-GB", { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });
}

export function clock(seconds) {
  return new Date(seconds * 1000).toLocaleTimeString("en-GB");
}

export function count(number, one, many = `${one}s`) {
  return `${number} ${number === 1 ? one : many}`;
}

/** "in 0:42", "in 3 h 20 min" or "in 6 days", for the seconds until something happens. */
export function until(seconds) {
  const left = Math.max(0, Math.ceil(seconds));
  if (left < 3600) return `in ${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
  if (left < 2 * 86400) return `in ${Math.floor(left / 3600)} h ${Math.floor((left % 3600) / 60)} min`;
  return `in ${Math.floor(left / 86400)} days`;
}

/** Whether a publisher wants no release at all: it ranks nothing and learns nothing from readers. */
export function asksNothing({ ranking, reports }) {
  return ranking === "local" && !reports;
}
