/** What was sent, and what it cost, in plain sentences. */

/** ε for people: three digits, and never below the decimal that it stands for, of the 15 digits that a float holds. */
export function shownEpsilon(epsilon) {
  if (!Number.isFinite(epsilon)) return "∞";
  if (!(epsilon > 0)) return "0";
  const digits = 2 - Math.floor(Math.log10(epsilon));
  const up = Math.ceil(Number((epsilon * 10 ** digits).toPrecision(15)));
  return String(Number((up / 10 ** digits).toPrecision(3)));
}

export function sentences({ lifetime, adjacency, worst, user, debits }, { clicks, open }, stopped) {
  const change = adjacency === "substitute" ? "replaced by another" : "there or not";
  const lines = [
    `Any one of your clicks may cost at most ε = ${shownEpsilon(lifetime)} over its life (a click ${change}, δ = 0, against the server).`,
    `The most that one click has cost so far is ε = ${shownEpsilon(worst)}; all of them together at most ε = ${shownEpsilon(user)}.`,
    `${debits.length} releases were paid for. ${clicks} clicks are kept on this device.`,
  ];
  if (open) lines.push(`${open} of them are counted in clear, as you chose. Nothing protects these.`);
  if (stopped) lines.push(`Nothing more is released: ${stopped}.`);
  return lines;
}
